//! The probe of runtimes (`runtime/`): what is allowed holds every honest execution, and hardly more. What is not
//! allowed is planted by `python/tests/test_runtime.py`.

use super::support::Random;
use super::support::floats::{Plain, State};
use super::support::shuffled::{self, Shuffle};
use formwright::error::ErrorKind;
use formwright::eval::enclosure::Executions;
use formwright::network::Precision;
use formwright::runtime::Probe;
use serde_json::Value;

const BOTH: [Precision; 2] = [Precision::F32, Precision::F64];

fn flat(outputs: impl IntoIterator<Item = State>) -> Vec<f64> {
    outputs.into_iter().flatten().flatten().collect()
}

#[test]
fn our_engine_plain_loops_and_sums_in_any_order_are_inside() {
    for precision in BOTH {
        let probe = Probe::new(precision).expect("a probe");
        let judged = |answers: &[f64]| probe.judge(answers).expect("as many numbers");
        let (inside, text, json) = judged(&probe.own().expect("outputs"));
        assert!(inside, "{text}");
        assert_eq!((json["verdict"].as_str(), json["outside"].as_u64()), (Some("inside"), Some(0)));
        let (network, inputs) = probe.parts();
        for plain in Plain::both(precision) {
            let (inside, text, _) = judged(&flat(inputs.iter().map(|x| plain.execute(network, x).output)));
            assert!(inside, "{text}");
        }
        for seed in 0..20 {
            for shuffle in [Shuffle::new, Shuffle::flushing] {
                let output = |x: &State| shuffled::trace(network, x, &mut shuffle(seed)).pop().expect("the output").1;
                let (inside, text, _) = judged(&flat(inputs.iter().map(output)));
                assert!(inside, "seed {seed}: {text}");
            }
        }
    }
}

#[test]
fn two_of_three_answers_are_allowed_in_one_way_and_none_in_every_way() {
    for precision in BOTH {
        let probe = Probe::new(precision).expect("a probe");
        let (network, inputs) = probe.parts();
        let enclosed = Executions::new(network).and_then(|all| all.enclose_batch(inputs)).expect("enclosures");
        let allowed: Vec<_> = enclosed.iter().flat_map(|all| all.output.iter().flatten()).collect();
        assert!(allowed.iter().all(|y| y.is_bounded()));
        let points = allowed.iter().filter(|y| y.width() == 0.0).count();
        assert!(3 * points > 2 * allowed.len(), "{points} of {}", allowed.len());
    }
}

#[test]
fn one_number_that_is_wrong_is_found_and_told_with_its_input() {
    let probe = Probe::new(Precision::F32).expect("a probe");
    let own = probe.own().expect("outputs");
    let [cases, tokens, outputs] = probe.shape();
    assert_eq!(own.len(), cases * tokens * outputs);
    let random = &mut Random::new(5);
    let mut found = 0;
    for _ in 0..200 {
        let place = usize::try_from(random.below(own.len() as u64)).expect("a place");
        for x in [2.0 * own[place] + 3.0, f64::NAN, f64::INFINITY] {
            let mut answers = own.clone();
            answers[place] = x;
            let (inside, text, json) = probe.judge(&answers).expect("as many numbers");
            assert!(!inside, "{place}: {x}");
            assert_eq!(json["outside"], 1);
            let witness = &json["witnesses"][0];
            let at = (place / outputs / tokens, place / outputs % tokens);
            assert_eq!((witness["number"].as_u64(), witness["token"].as_u64()), (Some(at.0 as u64), Some(at.1 as u64)));
            assert!(text.contains(&format!("token {}", at.1)) && text.contains("allowed"), "{text}");
            found += 1;
        }
    }
    assert_eq!(found, 600);
    let all_wrong = vec![f64::NAN; own.len()];
    let (_, text, json) = probe.judge(&all_wrong).expect("as many numbers");
    assert_eq!(json["outside"], own.len());
    assert!(text.contains(&format!("and {} more", cases * outputs - 12)), "{text}");
}

#[test]
fn the_files_are_some_kilobytes_and_the_same_each_time() {
    for precision in BOTH {
        let files = Probe::new(precision).and_then(|probe| probe.files()).expect("files");
        assert_eq!(files, Probe::new(precision).and_then(|probe| probe.files()).expect("files"));
        let size = |name: &str| files.iter().find(|(file, _)| file == name).expect("a file").1.len();
        assert!(size("probe.onnx") < 32_000, "{}", size("probe.onnx"));
        let document = &files.iter().find(|(file, _)| file == "probe.json").expect("a document").1;
        let document: Value = serde_json::from_slice(document).expect("JSON");
        assert_eq!(document["execution"], format!("ieee-any-order {precision}"));
    }
}

#[test]
fn answers_are_read_from_arrays_and_lists_and_refused_by_their_place() {
    let probe = Probe::new(Precision::F32).expect("a probe");
    let own = probe.own().expect("outputs");
    let [cases, tokens, outputs] = probe.shape();
    let lists = |change: &dyn Fn(usize) -> Option<Value>| -> Vec<u8> {
        let entry = |place: usize| change(place).unwrap_or_else(|| own[place].into());
        let token = |t: usize| -> Value { (0..outputs).map(|o| entry(t * outputs + o)).collect() };
        let case = |c: usize| -> Value { (0..tokens).map(|t| token(c * tokens + t)).collect() };
        (0..cases).map(case).collect::<Value>().to_string().into_bytes()
    };
    assert_eq!(probe.read(&lists(&|_| None)[..], "y.json").expect("numbers"), own);
    let strange = lists(&|place| (place == 3).then(|| "NaN".into()));
    assert!(probe.read(&strange[..], "y.json").expect("numbers")[3].is_nan());
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({cases}, {tokens}, {outputs}), }}\n");
    let array = |header: &str, numbers: &[f64]| -> Vec<u8> {
        let length = u16::try_from(header.len()).expect("short").to_le_bytes();
        #[expect(clippy::cast_possible_truncation, reason = "numbers of f32")]
        let numbers: Vec<u8> = numbers.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &numbers].concat()
    };
    assert_eq!(probe.read(&array(&header, &own)[..], "y.npy").expect("numbers"), own);
    let mut infinite = own.clone();
    infinite[7] = f64::NEG_INFINITY;
    assert_eq!(probe.read(&array(&header, &infinite)[..], "y.npy").expect("numbers"), infinite);
    let one_less = format!("({}, {tokens}, {outputs})", cases - 1);
    let shape = format!("({cases}, {tokens}, {outputs})");
    for (bytes, expected) in [
        (lists(&|place| (place == outputs + 2).then(|| "x".into())), "at [0, 1, 2]"),
        (lists(&|place| (place == 0).then(|| Value::Bool(true))), "at [0, 0, 0]"),
        (lists(&|place| (place == 0).then(|| Value::Array(Vec::new()))), "at [0, 0, 0]"),
        (b"[]".to_vec(), "does not have the shape of the answers, at []"),
        (b"{}".to_vec(), "at []"),
        (b"".to_vec(), "y is empty"),
        (b"[1,".to_vec(), "y is not JSON"),
        (vec![0xff, 0xfe], "neither an array of numpy nor a text"),
        (array(&header.replace(&shape, &one_less), &own[tokens * outputs..]), "sequences, expected"),
        (array(&header, &own[1..]), "y ends in sequence"),
        (array(&header, &[&own[..], &[0.0]].concat()), "goes on behind"),
        (vec![b' '; (1 << 26) + 1], "has more than"),
    ] {
        let error = probe.read(&bytes[..], "y").expect_err(expected);
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.to_string().contains(expected), "{error}, expected {expected}");
    }
    let error = probe.judge(&own[1..]).expect_err("too few");
    assert!(error.headline().contains("expected"), "{error}");
}
