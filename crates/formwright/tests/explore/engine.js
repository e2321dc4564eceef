// Runs the script of a page of formwright explore: node engine.js, with {"page", "inputs"} on standard input. Answers with what each input
// becomes: the output, the residual stream behind the embedding and every stage, the target. With {"page", "targets"}: the values of targets.
// With {"page", "start"}: the worst input that a search from there finds, and its error.

const fs = require("fs");
const vm = require("vm");

const { page, inputs, targets, start } = JSON.parse(fs.readFileSync(0, "utf8"));
const html = fs.readFileSync(page, "utf8");
const element = (id) => html.match(new RegExp(`<script id="${id}"[^>]*>([^]*?)</script>`))[1];
// All but the part that needs a document.
const script = element("script").split('const MODEL = JSON.parse(document')[0];
const context = vm.createContext({ atob, model: JSON.parse(element("model")), inputs, targets, start });
vm.runInContext(script, context);
const answers = vm.runInContext(
  `(() => {
    if (targets) return targets.map(({ target, x, dims }) => wanted(target, x, dims));
    const net = network(model);
    if (start) return [...search(net, start)].at(-1);
    const ends = (states) => states.filter((_, place) => place === 0 || net.layers[place - 1].last);
    return inputs.map((x) => {
      const { states, output } = run(net, x);
      return { output, stages: ends(states), target: wanted(model.target, x, net.dims) };
    });
  })()`,
  context,
);
// JSON has no infinite numbers and no -0: these are written as texts.
const written = (_, x) => (typeof x === "number" && (!Number.isFinite(x) || Object.is(x, -0)) ? (Object.is(x, -0) ? "-0" : String(x)) : x);
console.log(JSON.stringify(answers, written));
