//! The registry of statements: the statements that are built, where, the tests that check them, and departures from
//! print.
//!
//! `formwright theorems` prints it, THEOREMS.md is generated from it, and tests assert that every test it names exists.

#[cfg(test)]
use std::fmt::Write as _;

use serde::Serialize;

#[cfg(test)]
use crate::markdown::wrapped;

/// The kind of a departure from the printed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DepartureKind {
    /// A step does not follow as printed; the theorem stands.
    Gap,
    /// Notation, seen in a plain-text copy of a preprint or in a lecture, and perhaps corrected in print.
    Slip,
    /// No error, but worth knowing.
    Remark,
    /// A deliberate difference.
    Choice,
}

/// A departure from print.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Departure {
    /// Its kind.
    pub(crate) kind: DepartureKind,
    /// Its description.
    pub text: &'static str,
    /// A command that shows it.
    pub show: Option<&'static str>,
}

impl Departure {
    /// The name of its kind.
    pub fn kind(&self) -> &'static str {
        self.kind.word()
    }
}

/// A statement of a paper that this project builds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Statement {
    /// A short name.
    pub id: &'static str,
    /// Its place in print.
    pub source: &'static str,
    /// The statement, in our words.
    pub statement: &'static str,
    /// The file that builds it.
    pub module: &'static str,
    /// Tests that check it, `file::test`.
    pub checked: &'static [&'static str],
    /// Theorems in Coq, `File.theorem`, that a proof assistant has checked; `formal/theorems.md` has what each says.
    pub machine_checked: &'static [&'static str],
    /// Departures from print.
    pub departures: &'static [Departure],
}

const YUN: &str = "Yun et al. 2020";

const ALBERTI: &str = "Alberti et al. 2023";

const SPARSE: &str = "Yun et al. 2020b";

const fn slip(text: &'static str) -> Departure {
    Departure { kind: DepartureKind::Slip, text, show: None }
}

const fn remark(text: &'static str) -> Departure {
    Departure { kind: DepartureKind::Remark, text, show: None }
}

const fn choice(text: &'static str) -> Departure {
    Departure { kind: DepartureKind::Choice, text, show: None }
}

/// Every statement, in the order in which a network is built.
pub const STATEMENTS: &[Statement] = &[
    Statement {
        id: "claim1",
        source: YUN,
        statement: "A network without positions is permutation-equivariant: g(XP) = g(X)P, hardmax ties included.",
        module: "crates/formwright/src/eval/exact.rs",
        checked: &[
            "end_to_end::outputs_are_permutation_equivariant",
            "questions::permuted_tokens_give_permuted_outputs",
        ],
        machine_checked: &["Claim1.claim1"],
        departures: &[],
    },
    Statement {
        id: "skip",
        source: YUN,
        statement: "A sub-layer with zero output weights is the identity, because of its skip connection: runs of layers of one \
                    kind can be stacked.",
        module: "crates/formwright/src/network/layer.rs",
        checked: &[
            "end_to_end::a_sub_layer_with_zero_output_weights_changes_nothing",
            "questions::without_skips_the_same_layers_forget_the_input",
        ],
        machine_checked: &[],
        departures: &[],
    },
    Statement {
        id: "lemma8",
        source: YUN,
        statement: "A continuous function is close to one that is constant on every cell of a fine grid: its value at the cell's \
                    centre.",
        module: "crates/formwright/src/construct/yun/centres.rs",
        checked: &["end_to_end::outputs_equal_the_target_at_the_centre_of_every_cell"],
        machine_checked: &["Tolerance.lemma8"],
        departures: &[choice(
            "The error of an entry is bounded by the modulus of continuity at half a cell's side; the paper \
                              uses the whole side.",
        )],
    },
    Statement {
        id: "lemma5",
        source: YUN,
        statement: "d(N+1) feed-forward layers with one hidden unit send every coordinate to the lower end of its cell, and a \
                    coordinate outside of [0,1) to a flag, -N^{nd} in real units.",
        module: "crates/formwright/src/construct/yun/quantise.rs",
        checked: &[
            "lemma5::every_coordinate_goes_to_its_cell_or_to_the_flag",
            "agreement::layers_and_closed_form_agree_on_every_point_of_the_extended_grid",
            "as_printed::the_flag_of_the_lecture_lets_an_outside_sequence_in",
        ],
        machine_checked: &[
            "Lemma5.lemma5",
            "Lemma5.lemma5_inside",
            "Slips.flag_as_printed",
            "Slips.closed_flag_misses",
        ],
        departures: &[
            slip("In the plain-text copy k runs over 0, δ, … while kδ is written besides; it counts cells."),
            slip("The flag is for coordinates outside of [0,1); the text has [0,1]."),
            Departure {
                kind: DepartureKind::Slip,
                text: "A lecture on the paper prints the flag as -δ^{nd}; it must be -δ^{-nd}. With the printed one, n = 2, d = 1, \
                       N = 4, the sequence whose ids are (-1/4, 2) ends at (1864.75, 1885), inside [768, 3072]: Lemma 6, \
                       property 4, fails.",
                show: Some(
                    "formwright build identity --tokens 2 --resolution 4 --as-printed flag-sign -o flag && echo '[[[-1],[0.5]]]' \
                            | formwright run flag --input - --trace",
                ),
            },
            choice(
                "In a float network the steps of a row come by decreasing cell. Exact arithmetic does not notice; in floats a coordinate \
                    then meets the step of its own cell, z - (z - k) = k, and afterwards, an integer, only steps whose terms are integers: \
                    the quantiser is exact.",
            ),
        ],
    },
    Statement {
        id: "lemma6",
        source: YUN,
        statement: "D+1 attention layers (two heads of size one, hardmax) map grid points to ids: distinct for the tokens of a \
                    sequence with distinct columns (1), distinct for two such sequences that are no permutations of each other (2), all \
                    in [t_l, t_r) (3); the ids of every other sequence lie outside of [t_l, t_r] (4).",
        module: "crates/formwright/src/construct/yun/context/equivariant.rs",
        checked: &[
            "lemma6::properties_hold_on_every_point_of_the_extended_grid",
            "lemma6::ids_equal_the_recurrence",
            "lemma6::contexts_are_listed_by_decreasing_id",
            "lemma6::multiplicities_are_invisible",
            "oracle::every_stage_agrees_with_the_outside_implementation",
        ],
        machine_checked: &[
            "Ids.sweep_closed_form",
            "Lemma6Layers.shifts_are_the_sweep",
            "Lemma6Layers.global_adds_the_largest",
            "Lemma6.lemma6_layers",
            "Lemma6.lemma6_1",
            "Lemma6.lemma6_2",
            "Lemma6.lemma6_3",
            "Lemma6Outside.lemma6_4",
            "Slips.factor_lost",
            "Slips.multiplicities_are_invisible",
        ],
        departures: &[
            slip(
                "Category 3 of the proof needs l_i ≥ 0 where the text has l_i > 0; zero is covered because the first window is \
                  (-1/2, 1/2).",
            ),
            slip("The plain-text copy lost the factor δ^{-d} before Ψ and garbled t_r."),
            remark(
                "Maximum and minimum cannot count: {0,0,1} and {0,1,1} share ids (n = 3, d = 1, N = 4: 3332 and 3341 in both). \
                    So the loss on sequences with equal columns is structural for n ≥ 3.",
            ),
        ],
    },
    Statement {
        id: "lemma10",
        source: YUN,
        statement: "The largest shifted id of a sequence with distinct columns satisfies D^{n-1}(D-1) ≤ l̃_n ≤ D^n(D-1) - (D-1)² (integer \
                    units).",
        module: "crates/formwright/src/construct/yun/context/equivariant.rs",
        checked: &["lemma6::lemma10_bounds_hold_and_the_sharper_ones_too"],
        machine_checked: &["Lemma6.lemma10", "Lemma6.last_id_names_the_set"],
        departures: &[remark(
            "Sharper: l̃_n ≥ (n-1)(D^n+1) - (D^n-D)/(D-1), attained at the ids 0, …, n-1. The upper bound is \
                              attained only for n = 2.",
        )],
    },
    Statement {
        id: "lemma7",
        source: YUN,
        statement: "1 + d + n·C(D,n) feed-forward layers with one hidden unit send the ids of a sequence with distinct columns to the \
                    target's values and every other token to 0.",
        module: "crates/formwright/src/construct/yun/value/mod.rs",
        checked: &[
            "end_to_end::outputs_equal_the_target_at_the_centre_of_every_cell",
            "end_to_end::outputs_are_zero_on_duplicates_and_outside",
            "end_to_end::random_tables_come_out_exactly",
            "as_printed::lemma7_as_listed_overwrites_a_value_and_the_repair_does_not",
            "agreement::layers_and_closed_form_agree_when_values_reach_into_the_windows",
        ],
        machine_checked: &[
            "Lemma7.lemma7",
            "Lemma7.rescale_multiplies",
            "ValueMap.value_map_looks_up",
            "Lemma6Outside.entries_below_M",
            "Slips.lemma7_as_listed",
            "Slips.lemma7_repaired",
        ],
        departures: &[
            Departure {
                kind: DepartureKind::Gap,
                text: "The layers act one after another, so a token that was replaced by its value is tested by the layers behind it. \
                       With n = 2, d = 1, N = 2 the only context has its centres at 13 and 13.5; listed in increasing order, the \
                       target 0 ↦ 13.5, 1/2 ↦ 7 comes out as 7, 7. A hypothesis |uᵀA_L| < t_l - δ/2 is missing; it holds for small δ.",
                show: Some("formwright build examples/lemma7-gap.json --as-printed lemma7-order"),
            },
            choice(
                "Where the hypothesis fails, values are divided by the smallest power of two that restores it, and last \
                    feed-forward layers of up to four ReLUs, one for every two output coordinates, multiply back.",
            ),
            choice(
                "The paper leaves the order of the layers open; ours is by decreasing centre, the one that survives floating point.",
            ),
        ],
    },
    Statement {
        id: "theorem2",
        source: YUN,
        statement: "Quantiser, contextual map and value map together equal the piecewise constant equivariant function on every cell \
                    with distinct columns and are 0 elsewhere.",
        module: "crates/formwright/src/construct/yun/equivariant.rs",
        checked: &[
            "end_to_end::outputs_equal_the_target_at_the_centre_of_every_cell",
            "end_to_end::outputs_are_zero_on_duplicates_and_outside",
            "sizes::formulas_equal_what_is_built",
            "agreement::layers_and_closed_form_agree_on_every_point_of_the_extended_grid",
            "agreement::a_changed_parameter_changes_both_executions_alike",
        ],
        machine_checked: &[
            "Functions.theorem2",
            "Theorem2.theorem2_on_contexts",
            "Theorem2.theorem2_elsewhere",
            "Tolerance.theorem2_tolerance",
            "Sizes.theorem2_size",
            "Sizes.theorem2_in_class",
        ],
        departures: &[
            choice(
                "The network runs in integer units: the embedding multiplies by N and moves the box to [0, N), the read-out \
                    divides by N. In real units every weight on the scale of the residual stream is multiplied by δ.",
            ),
            remark("The loss O(δ^{d/p}) on cells with equal columns dominates in practice."),
        ],
    },
    Statement {
        id: "theorem3",
        source: YUN,
        statement: "With a positional encoding, quantiser, contextual map and value map equal the piecewise constant function on every \
                    cell, whatever its symmetry.",
        module: "crates/formwright/src/construct/yun/positional.rs",
        checked: &[
            "end_to_end::outputs_equal_the_target_at_the_centre_of_every_cell",
            "end_to_end::random_tables_come_out_exactly",
            "sizes::formulas_equal_what_is_built",
            "agreement::layers_and_closed_form_agree_on_every_grid_point_with_positions",
            "as_printed::theorem3_as_printed_shifts_one_sequence_twice",
        ],
        machine_checked: &[
            "Functions.theorem3",
            "Theorem3.theorem3_on_the_box",
            "Theorem3Ids.positional_sweep",
            "Theorem3Ids.positional_layers",
            "Theorem3Ids.positional_ids_unique",
            "Tolerance.theorem3_tolerance",
            "Sizes.theorem3_size",
            "Sizes.theorem3_in_class",
            "Slips.theorem3_layers_as_printed",
            "Slips.theorem3_shifts_twice",
        ],
        departures: &[
            Departure {
                kind: DepartureKind::Gap,
                text: "The claim l̃_1 < … < l̃_n fails for n = 2, d = 1 and every N: the sequence with ids (D-1, D) is shifted twice and \
                       ends at (2D-1+D(D-1)², D²), for N = 4 at (43, 16). Exactly one sequence is affected and the ids stay distinct: \
                       the mapping survives. For n ≥ 3 or d ≥ 2 the claim holds.",
                show: Some(
                    "formwright build identity --positional --tokens 2 --resolution 4 --as-printed theorem3-positions -o rehit && \
                            echo '[[[\"3/4\"],[0]]]' | formwright run rehit --input - --trace",
                ),
            },
            choice(
                "Repaired: token 1 gets the highest position and is never shifted, the others follow below; the sweep visits \
                    (n-1)D windows instead of nD, and the last scale is nND^n instead of nND^{n+1}.",
            ),
            slip("The same k, δ and kδ as in Lemma 5."),
        ],
    },
    Statement {
        id: "assumption1",
        source: SPARSE,
        statement: "Of a cycle of p sparsity patterns: every token sees itself; the tokens can be put in a row in which each is seen by the next in some \
                    layer; and after s layers every token has heard of every other.",
        module: "crates/formwright/src/pattern/assumptions.rs",
        checked: &[
            "patterns::named_patterns_satisfy_what_the_table_says",
            "patterns::chains_are_found_where_there_are_any",
            "patterns::hops_are_those_of_all_paths",
            "patterns::connections_are_those_of_the_formulas",
        ],
        machine_checked: &[],
        departures: &[remark(
            "The assumption is written down from memory of the paper, whose text was not at hand. A row is a Hamiltonian path: found, excluded by a \
             proof, or not found within a stated number of steps, and then said to be open.",
        )],
    },
    Statement {
        id: "sparse",
        source: SPARSE,
        statement: "Under Assumption 1, with positions along the row, p(n-1)D + s attention layers in which a token sees only what the pattern shows it \
                    are a contextual mapping on all sequences of the grid; with quantiser and value map the network equals the piecewise constant function \
                    on every cell. A star has 5n-4 connections a layer.",
        module: "crates/formwright/src/construct/yun/sparse.rs",
        checked: &[
            "sparse::every_sequence_has_ids_of_its_own",
            "sparse::sizes_and_connections_are_those_of_the_formulas",
            "sparse::random_tables_come_out_exactly",
            "sparse_floats::floats_are_exact_on_the_lattice_in_any_order",
            "sparse_floats::the_derived_temperature_is_enough_and_half_of_it_is_not",
            "sparse_floats::what_is_measured_is_below_what_is_certified",
        ],
        machine_checked: &[],
        departures: &[
            remark(
                "Positions, sweep and the number of layers are the paper's as remembered, not as read; the temperature of its softmax is derived as for \
                 Theorem 3, over the keys that are seen.",
            ),
            choice(
                "The scale M = 2s·D^{n-1}·R of the s last layers, R the largest id before them, and the proof by x_k ≡ l̃_k (mod M) and \
                 ⌊x_k/M^s⌋ = max l̃ are ours.",
            ),
            choice(
                "A window for which another layer of the cycle is needed waits: the layers in between are there and do nothing.",
            ),
        ],
    },
    Statement {
        id: "hub",
        source: "ours",
        statement: "A sum over all tokens by two attention layers of O(n) connections: a hub sees all and adds up, then all see the hub. Circuits and sums of \
                    codes have it in the place of one layer in which all see all.",
        module: "crates/formwright/src/network/attention/hub.rs",
        checked: &["sparse_floats::a_hub_adds_up_for_circuits_and_sums_of_codes"],
        machine_checked: &[],
        departures: &[],
    },
    Statement {
        id: "lemma9",
        source: YUN,
        statement: "Softmax at a high enough temperature stands for hardmax, and four ReLUs for a piecewise linear function of three \
                    pieces: the network becomes one of T^{2,1,4}, as close to the exact one as is asked for.",
        module: "crates/formwright/src/construct/yun/lower/mod.rs",
        checked: &[
            "lowered::floats_are_exact_on_the_lattice",
            "lowered::rounding_is_what_is_stated_at_every_lattice_point_and_in_any_order",
            "temperature::the_derived_temperature_is_enough_and_half_of_it_is_not",
            "value_order::decreasing_centres_keep_the_stated_rounding_and_the_listed_order_does_not",
            "certified::theorem2_meets_a_quarter_of_the_best_constant_in_l1",
            "certified::theorem3_meets_a_quarter_of_the_best_constant_in_l2_for_three_tokens",
            "onnx::onnxruntime_computes_random_networks",
            "packed::packed_networks_compute_the_same_on_the_lattice_in_any_order",
            "guard::without_a_guard_the_output_leaks_however_far_away_another_coordinate_is",
        ],
        machine_checked: &[],
        departures: &[
            Departure {
                kind: DepartureKind::Gap,
                text: "The distance is taken over all of R^{d×n}, and there the lowered network leaks: with one coordinate far outside and \
                       another on its flag's ramp, an id passes through [t_l, t_r] and the output is not 0, however far the first \
                       coordinate is. The error is infinite; over a bounded set the lemma holds. Claims here are over the box, or over all \
                       of space with a guard.",
                show: Some("formwright build \"x - mean(x)\" --tokens 2 --eps 0.2 --norm l1 --domain all"),
            },
            choice(
                "All three cases of the four-ReLU formula; a piece that is 0 is where the units rest, so that flag and indicator do \
                    nothing, not even by rounding, to what they leave alone.",
            ),
            choice(
                "The temperature is the smallest power of two for which ids drift by at most a quarter of the last digit of the largest \
                    one: rounding then restores the integers after every layer. --temperature saturate makes softmax hardmax, bit by bit.",
            ),
            choice(
                "Ramps are as narrow as the quantiser stays exact (windows: a quarter). Values are rounded so that every window adds up \
                    exactly, in any order of summation.",
            ),
            choice(
                "The target's mid-range is subtracted from the stored values and added by the read-out: half of the loss on equal columns. \
                    A final clip, twice, keeps every output in the target's range, also on the ramps.",
            ),
            choice("Packed networks (--pack, --hidden) are not literal: several layers of the paper share a block."),
        ],
    },
    Statement {
        id: "guard",
        source: "ours",
        statement: "With a clamp, one more attention layer, the first row quantised once more and the residual stream carried times a power of \
                    two, a lowered network of Theorem 2 is exactly 0 whenever a coordinate is outside of the box and off its ramp, for every \
                    finite input of its format and in every execution.",
        module: "crates/formwright/src/construct/yun/guard.rs",
        checked: &[
            "guard::with_a_guard_one_coordinate_outside_makes_the_output_exactly_zero_in_floats",
            "guard::a_guarded_network_is_the_same_in_the_box",
            "guard::the_two_executions_of_the_guard_agree_on_the_extended_grid",
            "guard::every_finite_float_is_answered_in_any_order_and_flushed_or_not",
            "guard::the_unit_of_the_stream_changes_nothing_in_the_box",
            "guard::onnxruntime_answers_every_finite_float",
        ],
        machine_checked: &[],
        departures: &[choice(
            "Inputs are numbers of the format: what is beyond the largest one is refused. Where the box, or the values, are so small that the \
                last digits of the carried stream would vanish, the network is declined.",
        )],
    },
    Statement {
        id: "proposition4",
        source: YUN,
        statement: "In L^p the network is as far from the target as its values vary inside the cells it serves, and as the target is large \
                    on cells with equal columns, whose share is O(δ^d).",
        module: "crates/formwright/src/bound/piecewise.rs",
        checked: &[
            "bounds::the_identity_is_off_by_a_known_amount",
            "bounds::the_duplicates_of_a_constant_are_counted_exactly",
            "bounds::measured_errors_stay_below_certified_ones",
            "needles::oscillation_rates_and_bounds_see_a_needle",
            "rates::equal_columns_alone_cost_d_over_p",
        ],
        machine_checked: &["Tolerance.unserved_cells"],
        departures: &[
            choice(
                "The bound is a number, proved for the target at hand: oscillation and supremum on every cell by interval arithmetic, or \
                    from Lipschitz constants beyond a million cells.",
            ),
            remark("It is a bound over the box; on integer domains and in the supremum norm it is declined."),
        ],
    },
    Statement {
        id: "section5.4",
        source: YUN,
        statement: "Any approximation by cells has to remember one number for each output entry and cell, divided by n! for equivariant \
                    functions; the network's parameters are of that order, a residual network's are not.",
        module: "crates/formwright/src/plan/mod.rs",
        checked: &["plan::counts_of_section_5_4_stand_beside_ours", "plan::a_plan_is_what_would_be_built"],
        machine_checked: &[],
        departures: &[],
    },
    Statement {
        id: "circuit",
        source: "ours",
        statement: "A target that is an expression is computed within ε, in the supremum norm, by a Transformer with one attention layer for each \
                    level of aggregation; width and depth do not depend on the number of tokens, except where a table over a count does.",
        module: "crates/formwright/src/construct/circuit/mod.rs",
        checked: &[
            "circuits::every_program_keeps_what_is_certified",
            "circuits::on_integers_every_answer_is_right",
            "circuits::the_bound_holds_at_every_length_that_is_claimed",
            "circuits::the_bound_holds_in_any_order_of_summation",
            "circuits::random_programs_are_compiled_and_keep_it_or_are_declined_with_a_reason",
        ],
        machine_checked: &[],
        departures: &[
            remark(
                "Lemma (deviations and variance): if v = mean(d²) and mean(d) = 0, then d_i² ≤ (n-1) v. Lemma (Jensen): errors e(t_j) of the tokens \
                 give a mean that is off by ê(mean), ê the least concave function above e.",
            ),
            remark(
                "Squares and products by sawtooth gates (Yarotsky) with --trade depth; a gather is attention as an interpolator (Hu et al. 2025) with \
                 keys p, p².",
            ),
        ],
    },
    Statement {
        id: "lemma2.9",
        source: ALBERTI,
        statement: "A function is equivariant if and only if its output token is a function of the token and of the others in any order.",
        module: "crates/formwright/src/network/sumformer.rs",
        checked: &["sumformer::semi_invariant_functions_are_the_equivariant_ones"],
        machine_checked: &[],
        departures: &[],
    },
    Statement {
        id: "theorem4.1",
        source: ALBERTI,
        statement: "Every continuous equivariant function on a box is uniformly near to Sumformers, ψ(x_i, Σ_k φ(x_k)), with \
                    φ(x) = (x^α) for 1 ≤ |α| ≤ n, of latent dimension C(n+d, d) - 1, and ψ a polynomial (the continuous route).",
        module: "crates/formwright/src/construct/normal_form/continuous.rs",
        checked: &[
            "normal_form::multiplied_out_the_normal_form_is_the_target",
            "normal_form::random_polynomials_keep_their_values",
            "normal_form::elementary_symmetric_polynomials_follow_newton",
            "normal_form::what_is_not_equivariant_is_refused_with_a_witness",
            "continuous::polynomials_are_certified_within_a_thousandth",
            "continuous::what_is_not_a_polynomial_is_interpolated_or_fitted",
            "continuous::hats_interpolate",
            "continuous::the_distance_of_a_polynomial_is_bounded",
        ],
        machine_checked: &[],
        departures: &[
            choice(
                "The paper takes a polynomial from the theorem of Stone and Weierstrass, and φ and ψ from a universal approximation theorem. Here a \
                 polynomial target is converted exactly, any other is interpolated (two tokens) or fitted, and ReLU gates (Yarotsky) compute both, \
                 with an error that is proved in the supremum norm.",
            ),
            choice(
                "Power sums up to the degree of the polynomial are used, and only those that occur; those beyond |α| = n are polynomials of the \
                 others, and could be replaced by them at the price of products.",
            ),
            remark(
                "For two tokens the sum itself is enough, d' = 1: the other token is Σ - x_i. For three tokens and more no continuous φ with d' = 1 \
                 serves in the supremum norm.",
            ),
            remark(
                "Takeshita & Imaizumi (2025) give networks for column-symmetric polynomials of degree s with one head and a width and a depth that do \
                 not depend on n. Neither do ours for a given ψ: n is in the coefficients only.",
            ),
        ],
    },
    Statement {
        id: "theorem4.3",
        source: ALBERTI,
        statement: "A Sumformer, ψ(x_i, Σ_k φ(x_k)), is a Transformer with one attention layer, whose scores are all equal.",
        module: "crates/formwright/src/construct/sumformer/transformer.rs",
        checked: &[
            "sumformer::its_transformer_has_one_attention_layer_and_computes_the_same",
            "sumformer::its_float_network_computes_the_same_but_for_rounding",
            "learned::over_the_rationals_the_transformer_is_the_trained_sumformer",
            "learned::executions_under_every_kind_stay_within_what_is_stated",
            "learned::shuffled_executions_stay_within_what_is_stated",
        ],
        machine_checked: &[],
        departures: &[
            choice(
                "The paper adds a channel that is 1 and lets queries and keys read it, so that all scores are 1; with W_Q = 0 all scores \
                 are 0, and no channel is needed.",
            ),
            remark(
                "φ and ψ may be learned: the Transformer of a trained Sumformer computes the trained function itself, and its executions in floats \
                 stay within a bound that is proved. How far that function is from its target is measured.",
            ),
        ],
    },
    Statement {
        id: "theorem4.4",
        source: ALBERTI,
        statement: "The uniform sum is one layer of Linformer attention, softmax(Q(EK)ᵀ)FV with k rows in E and F: for every k ≥ 1, every E, and F = 1.",
        module: "crates/formwright/src/network/attention/linformer.rs",
        checked: &[
            "realisations::every_kind_gives_the_sums_of_softmax",
            "realisations::a_uniform_head_loses_no_more_than_is_stated",
            "realisations::the_sum_comes_out_for_every_e_and_for_no_random_f",
            "realisations::what_is_certified_of_realised_circuits_holds",
            "learned::executions_under_every_kind_stay_within_what_is_stated",
        ],
        machine_checked: &[],
        departures: &[
            remark(
                "The theorem chooses F. A Gaussian F, as sampled in practice, weighs token j by Σ_a p_a F_aj, which depends on its place: it does not \
                 give the sum. --attention linformer:k:gaussian is declined for that.",
            ),
            choice(
                "Queries and keys are 0, so that all scores are equal and the constant channel of the paper is not needed; the factor 1/n of a mean is \
                 in W_V, and with it the number of tokens.",
            ),
        ],
    },
    Statement {
        id: "theorem4.5",
        source: ALBERTI,
        statement: "The uniform sum is one layer of Performer attention, a(Q)(a(K)ᵀV) with k positive random features a: where queries and keys are \
                    constant it comes out ‖a_0‖² times as large, and a feed-forward layer divides by that.",
        module: "crates/formwright/src/network/attention/performer.rs",
        checked: &[
            "realisations::every_kind_gives_the_sums_of_softmax",
            "realisations::a_uniform_head_loses_no_more_than_is_stated",
            "realisations::only_the_heads_differ",
            "realisations::what_is_certified_of_realised_circuits_holds",
            "learned::executions_under_every_kind_stay_within_what_is_stated",
        ],
        machine_checked: &[],
        departures: &[
            Departure {
                kind: DepartureKind::Choice,
                text: "W_Q = W_K = 0 makes the constant channel unnecessary, and the feed-forward layer too: then ‖a_0‖ = 1 for every draw. The paper's \
                       form is there by name.",
                show: Some("formwright build mean-centring --attention performer:4:constant"),
            },
            choice(
                "In the paper's form the sums go to registers of their own, and the further layer adds 1/‖a_0‖² of them, two ReLUs for each, and empties \
                 the registers: a sum that is added to something else could not be divided any more.",
            ),
        ],
    },
    Statement {
        id: "definition5.1",
        source: YUN,
        statement: "A map q from a finite set of sequences to R^{1×n} is a contextual mapping if the n entries of every q(L) are distinct (1), and all \
                    entries of q(L) and q(L') are, for L ≠ L' (2).",
        module: "crates/formwright/src/contextual/mod.rs",
        checked: &[
            "contextual::verdicts_and_margins_equal_a_comparison_of_all_pairs",
            "contextual::the_attention_stack_is_its_layers",
            "contextual::the_attention_stack_is_contextual_on_distinct_columns_without_any_other_layer",
            "contextual::two_windows_a_layer_confuse_two_contexts_of_three_tokens_and_none_of_two",
            "contextual::with_positions_all_windows_of_a_token_fit_into_one_layer",
            "contextual::feed_forward_layers_alone_see_no_context",
        ],
        machine_checked: &[],
        departures: &[
            remark(
                "To the letter, no equivariant map is one on a set with a sequence and a permutation of it. Lemma 6 proves (2) for sequences that are no \
                 permutations of each other: --definition permutation. A lecture on the paper asks (1) of distinct columns only: --definition columns. That is \
                 enough for equivariant functions, and all that an equivariant map can give where columns are equal.",
            ),
            Departure {
                kind: DepartureKind::Remark,
                text: "Derived here: with two windows in an attention layer the stack of Lemma 6 confuses {0, 1, 3} and {0, 2, 3}. For n = 2 one window for all ids is enough, and \
                       with positions one for all ids of a token: n attention layers instead of (n-1)D + 1.",
                show: Some("formwright contextual attention:2 --set distinct --definition permutation"),
            },
            remark(
                "Derived here: attention layers alone tell contexts apart, and feed-forward layers alone never do. So both are needed, these to look values up.",
            ),
            choice(
                "Everything is decided on a finite set, in rational numbers; the margin is the least distance of two numbers that must differ.",
            ),
        ],
    },
    Statement {
        id: "bproj",
        source: "Yun et al. 2020, section 6.1",
        statement: "Bilinear projections, X + W_O X W_P with a random W_P, compute contextual mappings with high probability.",
        module: "crates/formwright/src/contextual/linear.rs",
        checked: &[
            "contextual::projections_and_convolutions_are_the_matrices_of_their_seeds",
            "contextual::projections_fail_no_more_often_than_is_proved",
            "contextual::three_uniform_numbers_are_no_denser_than_is_stated",
        ],
        machine_checked: &[],
        departures: &[
            remark(
                "The paper argues by random projections of sparse differences. Derived here: on a finite set whose uᵀL are different and not 0, almost every W_P \
                 gives a contextual mapping in the strict sense, and the margin is below (4/3)κ/pairs, ids being whole, with a probability of at most κ.",
            ),
            Departure {
                kind: DepartureKind::Remark,
                text: "Derived here: the sequence of zeros must not be in the set, since its q is 0; positions remove it.",
                show: Some("formwright contextual bproj"),
            },
            choice(
                "Entries are sums of three uniform numbers of 64 digits, so that everything is rational; their density is below that of a normal variable.",
            ),
        ],
    },
    Statement {
        id: "sepconv",
        source: "Yun et al. 2020, section 6.2",
        statement: "One layer of separable convolutions, X + W_O (X * W_C), computes no contextual mapping if its filter is short.",
        module: "crates/formwright/src/contextual/linear.rs",
        checked: &[
            "contextual::projections_and_convolutions_are_the_matrices_of_their_seeds",
            "contextual::convolutions_need_positions_and_a_window_as_long_as_the_sequence",
        ],
        machine_checked: &[],
        departures: &[
            Departure {
                kind: DepartureKind::Remark,
                text: "Derived here: without positions no filter does, of any length, on a set with a sequence and its shift: (0, 1) and (1, 0) share a number.",
                show: Some("formwright contextual sepconv:9 --tokens 2 --resolution 2 --set distinct"),
            },
            remark(
                "Derived here: with positions, 2n-1 taps are enough for almost every filter, and 2n-2 are too few for all. Stacks of short filters are not treated.",
            ),
        ],
    },
    Statement {
        id: "average",
        source: "Yun et al. 2020, section 5.2 and appendix D",
        statement: "Averages of all tokens in the place of attention do not compute contextual mappings.",
        module: "crates/formwright/src/contextual/sums.rs",
        checked: &[
            "contextual::sums_name_a_token_and_the_sums_and_codes_name_the_multiset",
            "contextual::plain_averages_fail_where_the_mean_and_a_token_agree",
            "contextual::no_continuous_number_tells_three_tokens_apart",
        ],
        machine_checked: &[],
        departures: &[
            Departure {
                kind: DepartureKind::Remark,
                text: "Derived here: that is so of one layer on the inputs, whatever reads it. After a feed-forward layer with codes, an average, or the sum of a \
                       Linformer or a Performer, is a contextual mapping, equal columns included: a Sumformer.",
                show: Some("formwright contextual average --set distinct --resolution 6 --definition columns"),
            },
            remark(
                "Derived here: a Linformer with a Gaussian F does not give the sum, but a sum with weights by place, which names the sequence: on distinct columns it is \
                 a contextual mapping in the strict sense without positions.",
            ),
            Departure {
                kind: DepartureKind::Remark,
                text: "Derived here: one continuous number for each token is not enough for three tokens, off the grid on which it was chosen.",
                show: Some("formwright contextual sumformer"),
            },
        ],
    },
    Statement {
        id: "codes",
        source: "ours",
        statement: "Give every id a number, so that the sum over n tokens names their multiset: a B_n set. By Bose and Chowla's discrete \
                    logarithms in GF(q^n), q ≥ D prime, the numbers are below q^n: n log2 q bits, a histogram taking D log2(n+1).",
        module: "crates/formwright/src/lattice/codes/mod.rs",
        checked: &[
            "codes::all_multisets_have_distinct_sums",
            "codes::bose_chowla_codes_are_logarithms_in_a_field",
            "codes::all_sequences_have_distinct_sums_at_their_places",
        ],
        machine_checked: &[],
        departures: &[remark(
            "Alberti et al. 2023 ask for some injective code of multisets. A field that is named and not prime is replaced by the next prime.",
        )],
    },
    Statement {
        id: "sum-code",
        source: "ours",
        statement: "Quantise, code, add up by one attention layer with equal weights, look up: three blocks that equal the target at the centre of \
                    every cell, equal columns included, and are 0 outside of the box. In floats every stage is exact at lattice points, in any \
                    order, and the output is exactly 0 where a coordinate is outside by a ramp or more and none is so far away that its flag \
                    overflows; there is no temperature and no duplicates term.",
        module: "crates/formwright/src/construct/sumcode/mod.rs",
        checked: &[
            "sum_code::outputs_equal_the_target_at_every_grid_point_duplicates_included",
            "sum_code::outside_of_the_box_the_output_is_zero_however_far",
            "sum_code::sizes_are_formulas_and_blocks_are_three",
            "sum_code_floats::every_grid_point_is_within_the_certified_rounding_in_any_order",
            "sum_code_floats::outside_of_the_box_the_output_is_exactly_zero",
            "sum_code_floats::how_far_outside_the_output_is_zero_is_what_is_said",
            "sum_code_floats::on_the_ramps_outputs_stay_below_the_height",
        ],
        machine_checked: &[],
        departures: &[
            remark(
                "Average attention does the same: Yun et al. 2020, section 6, find it weak in practice, which is no matter of what it can express.",
            ),
            remark(
                "In floats the quantiser takes two layers for each binary digit: with one, its sums are not exact in every order.",
            ),
            choice(
                "In floats, values in layers are followed by a clip, twice, which keeps every output in the target's range, also on the ramps.",
            ),
        ],
    },
    Statement {
        id: "median",
        source: "ours",
        statement: "Let m = nd, K = 2m + 1, and take K grids of one cell side h, grid j shifted along the diagonal by jh/K in every coordinate. \
                    If copy j is within e of f wherever every coordinate is h/2K or more away from the walls of grid j, and is any number elsewhere, \
                    then the median of the K outputs, entry by entry, is within e of f everywhere on the box. Proof: walls of different grids are \
                    h/K or more apart, so a coordinate is nearer than h/2K to a wall of one grid at most; m coordinates spoil at most m copies; the \
                    other m + 1 are a majority in [f - e, f + e], and so the median lies there. With sums of codes as copies e is the oscillation of f \
                    at a distance of mh/K from a cell's middle, one attention layer of K heads is enough, and equal tokens are served: any continuous \
                    function in the supremum norm.",
        module: "crates/formwright/src/construct/median/mod.rs",
        checked: &[
            "median::layers_closed_form_and_a_median_outside_agree_everywhere",
            "median::at_most_half_of_the_copies_are_spoiled_anywhere",
            "median::the_bound_of_a_linear_function_is_its_slope_times_the_reach",
            "median::tables_are_met_within_their_jumps",
            "median::a_table_with_a_constant_stands_for_every_function_with_its_values",
            "median_floats::at_every_wall_and_next_to_it_outputs_are_within_the_bound",
            "median_floats::a_minority_of_garbage_changes_nothing_and_a_majority_does",
            "median_floats::a_single_grid_is_not_within_the_bound",
        ],
        machine_checked: &[],
        departures: &[
            remark(
                "Shen, Yang and Zhang take the middle of three shifted networks, one coordinate after the other: 3^m copies. On the diagonal 2m + 1 \
                 are enough.",
            ),
            remark(
                "Theorem 2 of Yun et al. cannot be a copy: it is 0 wherever two tokens share a cell, on every grid.",
            ),
            choice(
                "In floats outputs are clamped to the target's range before they are compared: a comparator loses digits of what it compares with \
                 a spoiled number.",
            ),
        ],
    },
    Statement {
        id: "sumformer-discrete",
        source: ALBERTI,
        statement: "The discontinuous proof: φ = Φ∘q is an injective code of the quantised token, one number; ψ(x, Σ) decodes the other tokens from \
                    Σ - φ(x) and looks the value up. In L^p.",
        module: "crates/formwright/src/construct/sumcode/mod.rs",
        checked: &[
            "sum_code::outputs_equal_the_target_at_every_grid_point_duplicates_included",
            "sum_code_floats::every_grid_point_is_within_the_certified_rounding_in_any_order",
            "questions::no_continuous_code_of_one_number_serves_three_tokens_in_the_supremum_norm",
        ],
        machine_checked: &[],
        departures: &[
            Departure {
                kind: DepartureKind::Gap,
                text: "Theorems 4.3 to 4.5 claim the supremum norm through this proof as well. With continuous layers and one number that is false: \
                       for three tokens and f(X)_i = |x_j - x_k| some t has 2φ(t) = φ(0) + φ(1), so that the contexts {0, 1} and {t, t} have one \
                       sum, and the error is 1/2 or more. The proof gives L^p; the continuous proof, with more numbers, gives the supremum.",
                show: Some("formwright theorems questions"),
            },
            choice(
                "ψ looks the value up by S·Σ + φ(x), which names the other tokens and the token itself, as Σ - φ(x) and x do.",
            ),
        ],
    },
];

#[cfg(test)]
/// The page THEOREMS.md.
pub(crate) fn markdown() -> String {
    let mut page = String::from(
        "# Statements\n\n\
         The statements that are built, with the file that builds each, the tests that check it and our departures from \
         print. The page is generated from `crates/formwright/src/theorems.rs`. A test keeps the two in step \
         (`UPDATE_THEOREMS=1 cargo test -p formwright --lib registry` writes the page anew), and another one asserts \
         that every test named here exists.\n\n\
         A *gap* is a step that does not follow as printed, a *slip* is notation seen in a plain-text copy of a preprint \
         or in a lecture and perhaps corrected in print, a *remark* is not an error, a *choice* is ours. The theorems \
         stand.\n",
    );
    for statement in STATEMENTS {
        let Statement { id, source, statement, module, checked, machine_checked, departures } = statement;
        // Writing to a String cannot fail.
        let _ = write!(page, "\n## {id}\n\n{statement} ({source})\n\n- built in `{module}`\n");
        for test in *checked {
            let _ = writeln!(page, "- checked by `{test}`");
        }
        for theorem in *machine_checked {
            let (file, name) = theorem.split_once('.').unwrap_or((theorem, ""));
            let _ = writeln!(page, "- machine-checked: [`{name}`](formal/theories/{file}.v)");
        }
        for Departure { kind, text, show } in *departures {
            let _ = writeln!(page, "- *{}*: {text}", kind.word());
            if let Some(command) = show {
                let lines = command.replace(" && ", " &&\n  ");
                let _ = writeln!(page, "  Shown by\n\n  ```sh\n  {lines}\n  ```");
            }
        }
    }
    wrapped(&page)
}

impl DepartureKind {
    /// Its name.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Slip => "slip",
            Self::Remark => "remark",
            Self::Choice => "choice",
        }
    }
}
