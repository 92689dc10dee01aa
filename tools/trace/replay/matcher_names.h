// SPDX-License-Identifier: BSD-3-Clause
//
// Included before everything else in the analyzer and in its own copy of src/matching: that one counts the entries that
// a search looks at, takes blocks of up to 64 messages, and has other names than the one that castoff runs with, so
// that both can be in one program. It is the same code; nothing else differs.
#ifndef CASTOFF_TOOLS_TRACE_REPLAY_MATCHER_NAMES_H
#define CASTOFF_TOOLS_TRACE_REPLAY_MATCHER_NAMES_H

#define CO_MATCH_COUNTS 1
#define CO_MATCH_LANES_MAX 64

#define co_matcher_bytes co_counted_matcher_bytes
#define co_matcher_open co_counted_matcher_open
#define co_matcher_move co_counted_matcher_move
#define co_matcher_renew co_counted_matcher_renew
#define co_matcher_post co_counted_matcher_post
#define co_matcher_claim co_counted_matcher_claim
#define co_matcher_arrive co_counted_matcher_arrive
#define co_matcher_probe co_counted_matcher_probe
#define co_matcher_take co_counted_matcher_take
#define co_matcher_put_back co_counted_matcher_put_back
#define co_matcher_cancel co_counted_matcher_cancel
#define co_matcher_visit_receives co_counted_matcher_visit_receives
#define co_matcher_state co_counted_matcher_state
#define co_matcher_count_match co_counted_matcher_count_match
#define co_matcher_store co_counted_matcher_store
#define co_match_batch_begin co_counted_match_batch_begin
#define co_match_batch_end co_counted_match_batch_end
#define co_match_lane_run co_counted_match_lane_run
#define co_match_lane_book co_counted_match_lane_book
#define co_match_lane_settle co_counted_match_lane_settle
#define co_posted_bytes co_counted_posted_bytes
#define co_posted_open co_counted_posted_open
#define co_posted_move co_counted_posted_move
#define co_posted_append co_counted_posted_append
#define co_posted_remove co_counted_posted_remove
#define co_posted_take co_counted_posted_take
#define co_posted_visit co_counted_posted_visit
#define co_unexpected_bytes co_counted_unexpected_bytes
#define co_unexpected_open co_counted_unexpected_open
#define co_unexpected_move co_counted_unexpected_move
#define co_unexpected_append co_counted_unexpected_append
#define co_unexpected_put_back co_counted_unexpected_put_back
#define co_unexpected_remove co_counted_unexpected_remove
#define co_unexpected_find co_counted_unexpected_find

#endif
