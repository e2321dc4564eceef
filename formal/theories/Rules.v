(** The rules of CERTIFICATE.md, sections 6, 7 and 10, each under its name: all that the page's list gives for it.

    [Check rule] prints the statement of a rule, [About] where the parts are. The false variants are in the files that
    end in [False], and beside the rules in the others; CERTIFICATE.md lists them too. *)

From Formwright Require RulesSums RulesSoftmax RulesSweep RulesLayers RulesMeanings RulesSymmetry RulesSymmetryNetwork
  RulesForms RulesHeads RulesBox RulesIntegral RulesReadOut.
From Formwright Require RulesShared RulesExchange RulesDistance RulesMedian RulesHosts RulesHostsReading RulesHostsSums RulesHostsClasses.

Local Infix "&" := conj (at level 60, right associativity).

Definition exact_sums := @RulesSums.exact_sums.
Definition multiples_stay_multiples := @RulesSums.multiples_stay_multiples.
Definition one_rounding := @RulesSums.two_terms_round_once & @RulesSums.one_rounding_interval &
  @RulesSums.one_rounding_error & @RulesSums.two_terms_error.
Definition snapping := @RulesSums.snapping.
Definition absorption := @RulesSums.absorption.
Definition any_sum := @RulesSums.any_sum & @RulesSums.sum_of_numbers & @RulesSums.sum_of_exact_products.
Definition layers := @RulesLayers.known_signs & @RulesLayers.extremes.
Definition softmax := @RulesSoftmax.shares_near_one & @RulesSoftmax.hull_of_values & @RulesSoftmax.grouped_values &
  @RulesSoftmax.uniform_head & @RulesSweep.others_share & @RulesSweep.gather_leak & @RulesSweep.average_between &
  @RulesSweep.average_gap & @RulesSweep.average_gap_simple.
Definition other_heads := @RulesHeads.other_heads & @RulesHeads.constant_rows_weigh_alike.
Definition pairs := @RulesSoftmax.pairs.
Definition symmetry := @RulesSymmetry.head_of_a_multiset & @RulesSymmetryNetwork.network_is_symmetric.
Definition box := @RulesBox.box_of_cells & @RulesBox.cells_fill_the_box & @RulesBox.power_grows &
  @RulesIntegral.there_is_an_integral & @RulesIntegral.volumes_are_positive.
Definition median := @RulesMedian.walls_are_apart & @RulesMedian.median_of_a_majority & @RulesMedian.median.
Definition comparators := @RulesMedian.comparators_by_zeros_and_ones & @RulesMedian.comparison_rounded &
  @RulesMedian.comparison_rounded_up & @RulesMedian.clamps_rest.
Definition table_with_a_constant := @RulesMedian.table_with_a_constant & @RulesMedian.entries_by_steps &
  @RulesMedian.a_function_with_the_constant.
Definition without_a_grid := @RulesBox.without_a_grid.
Definition sweep := @RulesSweep.average_grows & @RulesSweep.queries_in_order & @RulesSweep.query_above &
  @RulesSweep.sweep_block & @RulesSweep.sweep_stays_below.
Definition embedding := @RulesForms.embedding & @RulesForms.embedding_alone.
Definition what_may_be_computed := @RulesForms.what_may_be_computed.
Definition curve := @RulesMeanings.curve_chord & @RulesMeanings.curve_cell & @RulesMeanings.curve_error.
Definition shared_units := @RulesShared.shared_units_in_order & @RulesShared.shared_units_mean_one_thing &
  @RulesShared.shared_units_are_curves & @RulesShared.shared_units & @RulesShared.shared_units_elsewhere &
  @RulesShared.shared_units_without_an_order.
Definition product := @RulesMeanings.product_by_squares & @RulesMeanings.product_error &
  @RulesMeanings.deviation_by_mean_square.
Definition teeth := @RulesMeanings.teeth_make_squares.
Definition whole_numbers := @RulesForms.whole_numbers & @RulesForms.whole_mean & @RulesForms.whole_sums_are_exact.
Definition points := @RulesForms.points & @RulesForms.points_make_products.
Definition cases := @RulesForms.cases.
Definition selection := @RulesForms.selection & @RulesForms.selection_by_a_form.
Definition exchange := @RulesExchange.exchange.
Definition comparators := @RulesExchange.comparators & @RulesExchange.zero_one_principle &
  @RulesExchange.lines_that_have_not_met.
Definition mean := @RulesMeanings.computed_mean & @RulesMeanings.errors_averaged & @RulesMeanings.concave_errors &
  @RulesMeanings.deviations_mean_square.
Definition hub := @RulesHeads.hub & @RulesHeads.one_key & @RulesHeads.one_token.
Definition average_linformer_performer := @RulesHeads.average_linformer_performer & @RulesHeads.average_head &
  @RulesHeads.linformer_spread & @RulesHeads.performer_weights.
Definition scores_by_position := @RulesHeads.scores_by_position & @RulesHeads.scores_by_position_by_size.
Definition what_heads_write := @RulesHeads.what_heads_write & @RulesHeads.heads_write_any_sum.
Definition largest := @RulesSweep.average_gap & @RulesSweep.average_gap_simple.
Definition softmax_head := @RulesHeads.softmax_head & @RulesHeads.scores_off & @RulesHeads.softmax_head_computed.
Definition signs := @RulesForms.signs.
Definition clearing := @RulesMeanings.clearing.
Definition read_out := @RulesReadOut.read_out & @RulesReadOut.mean_is_linear & @RulesReadOut.sum_by_mean &
  @RulesReadOut.quotient_of_sums & @RulesReadOut.attend_by_means & @RulesReadOut.largest_of_multiples &
  @RulesReadOut.least_by_largest & @RulesReadOut.extremes_by_relu & @RulesReadOut.exponential_of_logarithm.
Definition read_out_over_integers := @RulesReadOut.read_out_over_integers & @RulesReadOut.conditions_are_numbers &
  @RulesReadOut.gather_by_places & @RulesReadOut.sorting_by_counts.
Definition read_out_by_masks := @RulesReadOut.read_out_by_masks & @RulesReadOut.masks_show_something.
Definition read_out_token_by_token := @RulesReadOut.read_out_token_by_token.
Definition read_out_within_a_distance := @RulesDistance.near_the_chord_by_steps &
  @RulesDistance.near_the_chord_by_bends & @RulesDistance.along_one_input & @RulesDistance.on_a_box &
  @RulesDistance.read_out_within_a_distance & @RulesDistance.one_token_stands_for_all &
  @RulesDistance.far_from_the_target.
Definition units_of_the_pin := @RulesHosts.units_of_the_pin & @RulesHosts.pins_stay.
Definition norm := @RulesHosts.norm.
Definition norm_without_a_mean := @RulesHostsClasses.norm_without_a_mean.
Definition quiet_squares := @RulesHostsClasses.quiet_squares & @RulesHostsClasses.quiet_roots.
Definition norm_before_the_layers := @RulesHosts.norm_before_the_layers & @RulesHostsClasses.added_to_a_normed_stream.
Definition norm_behind_the_layers := @RulesHosts.norm_behind_the_layers & @RulesHosts.stream_is_readable.
Definition reading := @RulesHostsReading.reading & @RulesHostsReading.reading_without_a_number.
Definition units_in_a_host := @RulesHostsReading.activation_near_relu & @RulesHostsReading.units_in_a_host &
  @RulesHostsReading.gates_in_a_host & @RulesHostsReading.second_registers_in_a_host &
  @RulesHostsClasses.silu_near_relu & @RulesHostsClasses.units_of_any_activation.
Definition gated_units := @RulesHostsClasses.gated_units & @RulesHostsClasses.gated_factors.
Definition parts_at_rest := @RulesHostsClasses.frequencies_at_rest & @RulesHostsClasses.nothing_changes.
Definition quiet_terms := @RulesHostsSums.quiet_terms.
Definition writing := @RulesHostsSums.writing & @RulesHostsSums.middles_behind_writing &
  @RulesHostsSums.writing_in_units.
Definition clearing_in_a_host := @RulesHostsSums.clearing_in_a_host & @RulesHostsSums.sums_grow &
  @RulesHostsSums.clearing_keeps_signs.
Definition nothing_is_exact := @RulesHostsReading.rows_of_words.
Definition heads_in_a_host := @RulesHostsReading.heads_in_a_host & @RulesHostsReading.factors_behind_norms &
  @RulesHostsReading.scores_in_a_host & @RulesHostsReading.queries_in_a_host.
Definition scores_by_position_in_a_host := @RulesHostsClasses.placed_scores & @RulesHostsClasses.hidden_tokens.
Definition read_out_in_a_host := @RulesHostsReading.read_out_in_a_host.
Definition labels := @RulesHostsReading.labels & @RulesHostsReading.difference_of_rows.
