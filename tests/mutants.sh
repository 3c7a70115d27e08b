#!/usr/bin/env bash
# Plants one-line faults, one at a time, and demands that the test named beside each turns red: a test that cannot fail is a defect.
#   tests/mutants.sh [NAME...]      all, or the named ones; about 15 minutes on 2 cores
#   tests/mutants.sh --check        only that each line to change still stands, once
# Works on a copy of the tree in a temporary folder; the tree itself is never changed.
set -uo pipefail
cd "$(dirname "$0")/.."
. jobs/mpi.sh
export FRETSAW_DATA=${FRETSAW_DATA:-$(realpath -m ../shared/data)} FRETSAW_ORACLE=${FRETSAW_ORACLE:-$(realpath -m ../shared/oracle)}

# name | file | what stands there | what is planted | tests (a regular expression for ctest)
mutants=$(cat <<'END'
auc_tie|common/auc.c|bits == 0x80000000u|bits == 0x80000001u|^auc$
auc_threshold|common/auc.c|label[i] >= 0.5f|label[i] > 0.5f|^auc$
tree_alignment|common/tree.c|t->next % (2 * top) != 0|t->next % top != 0|^tree$
tree_piece_end|common/tree.c|first + 2 * size <= end|first + 2 * size < end|^tree$
permutation_round|common/permutation.c|round = ROUNDS; round-- > 0;|round = ROUNDS - 1; round-- > 0;|^permutation$
philox_key|common/rng.h|k1 += 0xBB67AE85u|k1 += 0xBB67AE86u|^rng$
missing_barrier|common/comm_mpi.c|if (me.node_size > 1)\n        MPI_Barrier(me.in_node);|if (me.node_size > 64)\n        MPI_Barrier(me.in_node);|^comm_np
exchange_own_part|common/comm_mpi.c|memmove(in, own, bytes_from[r]);|memmove(in, own, bytes_from[r] / 2);|^comm_np
exit_code|common/program.c|comm_abort(st);|comm_abort(st == 4 ? 3 : st);|^exit_codes$
missing_word|preprocess/missing.c|"n/a",|"N/a",|^csv_oracle$
utf8_first_vector|preprocess/utf8.c|_mm256_alignr_epi8(x, across, 13)|_mm256_alignr_epi8(x, across, 14)|^tokens$
utf8_fourth_byte|preprocess/utf8.c|_mm256_set1_epi8(0xF0 - 0x80)|_mm256_set1_epi8(0xF1 - 0x80)|^tokens$
clean_bare_name|preprocess/clean.c|(e = find_entity(p, n)) && e->bare|(e = find_entity(p, n))|^clean$
cache_of_nuls|preprocess/tokenizer_cache.h|i &= CACHE_WAYS - 1;|i &= 7;|^tokens_cache$
manifest_seal|store/manifest.c|memcmp(seal + SEAL_HEAD, hex, HASH_HEX - 1) != 0|memcmp(seal + SEAL_HEAD, hex, HASH_HEX - 2) != 0|^manifest$
split_cut|preprocess/splits.c|w->state ^= one.strict.flips;|w->state = one.strict.flips;|^csv_cuts$
closing_quote|preprocess/csv_scan_body.h|x->closed = closes >> last & 1;|x->closed = 0;|^csv_(scan|cuts)$
giant_field|preprocess/csv.c|*too_long = at - field > r->longest_field;|*too_long = at - field >= r->longest_field;|^csv_cuts$
pandas_eaten|preprocess/csv_pandas.c|{PANDAS_EATEN, 0}|{PANDAS_START, DECIDES}|^csv_pandas$
pandas_region|preprocess/csv_pandas.c|r.first = a->keeps ? PANDAS_BEFORE : a->region;|r.first = a->region;|^csv_pandas$
gzip_member|preprocess/packed.c|            inflateReset(z);\n|            z->total_out = 0;\n|^csv_packed$
helper_in_between|preprocess/parts.c|            continue; /* with fewer|            break; /* with fewer|^preprocess_np
direct_count|preprocess/direct.c|if (!d->read.stopped && d->number != d->behind)|if (0)|^preprocess_direct$
direct_turn|preprocess/direct.c|        TRY(kept_go_to(d->kept, d->number));\n||^preprocess_direct$
turns_apart|preprocess/turns.c|            out->end = first[node + comm_node_size()];|            out->end = first[place + 1];|^preprocess_turns_np
turns_twice|preprocess/turns.c|atomic_fetch_add_explicit(t->taken, t->step,|atomic_fetch_add_explicit(t->taken, t->step - (t->step > 1),|^preprocess_turns_np
direct_first_row|preprocess/direct.c|- (s->piece[piece].record > 0);|- 0;|^preprocess_direct$
direct_source|preprocess/direct.c|mapped.source = d->source_map[r->source];|mapped.source = r->source;|^preprocess_direct$
direct_last_hashes|preprocess/kept.c|    TRY(write_blocks(k));\n    FILE|    FILE|^preprocess_direct$
direct_other_rows|shard/place.c|strcmp(w->out.inputs, w->inputs) != 0|strcmp(w->out.inputs, w->inputs) == 2|^preprocess_direct$
direct_other_inputs|shard/inputs.c|n == 0 : *wanted != *text|n == 0 : 0|^preprocess_direct$
direct_let_go|shard/place.c|    if (from->close)|    if (0)|^preprocess_direct$
direct_two_kinds|shard/output.c|bool other = said &&|bool other = 0 && said &&|^preprocess_direct$
spill_long_row|shard/spill_write.c|sizeof(entry) <= w->most)|sizeof(entry) <= 0)|^spill$
row_ahead|preprocess/rows.c|TRY(begin_next(m, !m->slot));|TRY(begin_next(m, m->slot));|^preprocess_np
ids_offset|store/ids_frame.c|offset = i - from;|offset = i - from + 1;|^ids_frame$
ids_overlap|store/ids_frame.c|begin > done && begin > offset|begin > offset|^ids_frame$
ids_run_on|store/ids_frame.c|last = same >> 63;|last = 0;|^ids_frame$
ids_header|store/ids_frame.c|return 5 + !single|return 6 + !single|^ids_frame$
range_walk|common/permutation.c|left += found[k] >= p->n;|left += found[k] > p->n;|^permutation$
zstd_cut|preprocess/packed.c|return wants ? end_inside(u, begin, sizeof(uint32_t)) : STATUS_OK;|return STATUS_OK;|^csv_packed$
helped_block|model/cpu/gemm.c|    while (atomic_load_explicit(&open->unfinished, memory_order_acquire) > 0)|    while (0)|^gemm$
max_last_on_ties|model/cpu/kernel_point.c|where = veci_select(greater, veci_set((uint32_t)t), where);|where = veci_select(vec_gt(best, x), where, veci_set((uint32_t)t));|^ops$
mean_divisor|model/cpu/kernel_point.c|vec_div(sum, vec_set((float)(end - first)))|vec_div(sum, vec_set((float)(end - first + 1)))|^ops$
decayed_bias|model/tensors.c|!strstr(t->name, "bias") &&||^(model_oracle|train_adamw)$
decay_sign|model/cpu/kernel_point.c|decay = vec_set(-s->decay)|decay = vec_set(s->decay)|^ops
attention_scale|model/cpu/ops_attention.c|1.0f / sqrtf((float)j->D)|1.0f / sqrtf((float)j->D + 1)|^ops$
kernel_barrier|model/cuda/kernels/attention_forward.cu|at += STEP) {\n        __syncthreads();|at += STEP) {|^cuda_attention$
kernel_mask|model/cuda/kernels/attention.h|(g / 4 * 4 + i) * 4 + t) >> b;|(g / 4 * 4 + i) * 4 + t) >> (b ^ 1);|^cuda_attention$
kernel_fragment|model/cuda/kernels/tile.h|lane / 8 % 2 * 8;|lane / 16 % 2 * 8;|^cuda_attention$
kernel_norm_barrier|model/cuda/kernels/norm.cu|s.beta[j][i];\n                    }\n        __syncthreads();|s.beta[j][i];\n                    }|^cuda_norm$
kernel_range|model/cuda/kernels/norm.cu|eighth[w * WARP + threadIdx.x];|eighth[w * WARP + threadIdx.x + 1];|^cuda_norm$
kernel_two_blocks|model/cuda/kernels/update.cu|part[blockIdx.x] = mine;\n}\n\n/* One block. */\n__global__ void __launch_bounds__(UPDATE_THREADS) join_hashes|part[0] = mine;\n}\n\n/* One block. */\n__global__ void __launch_bounds__(UPDATE_THREADS) join_hashes|^cuda_update$
link_peer|model/cuda/link_nccl.c|nccl.Send(p, (size_t)n, ncclFloat, to,|nccl.Send(p, (size_t)n, ncclFloat, to ^ 2,|^device_links_np5$
link_count|model/cuda/link_nccl.c|nccl.Recv(p, (size_t)n,|nccl.Recv(p, (size_t)n - (n > 1),|^device_links_np2$
link_group_end|model/cuda/link_nccl.c|keep(l, "a group", nccl.GroupEnd());|(void)nccl.GroupEnd;|^device_links_np2$
link_not_awaited|model/cuda/link_nccl.c|    gpu_follow_side(l->gpu);|    (void)l;|^device_links_np2$
messages_given_up_late|train/trainer.c|t->be->device->close_link(t->be);|(void)t->be;|^device_stop$
moments_of_lost_device|train/checkpoint.c|st == STATUS_OK ? o->be->ops->check(o->be) : st)|st)|^device_lost$
dropout_counter|model/cpu/dropout_vec.h|b->epoch << 16|b->epoch << 15|^ops
truncation_room|model/input.c|case TRUNCATE_TAIL: *front = 0; break;|case TRUNCATE_TAIL: *front = 1; break;|^(dataset_np1|train_order|infer_run)$
deal_ties|train/deal.c|d->tokens[lane] < d->tokens[best]|d->tokens[lane] <= d->tokens[best]|^train_order$
deal_lane_split|train/deal.c|return rank * lanes / ranks;|return (rank * lanes + ranks - 1) / ranks;|^train_(order|reduce_np3)$
schedule_end|train/adamw.c|(double)(s->total - step)|(double)(s->total - step - 1)|^train_adamw$
bias_correction|train/adamw.c|sqrt(1 - adamw_power(o->beta2, t))|sqrt(1 - adamw_power(o->beta2, t + 1))|^train_adamw$
tree_order_swapped|train/reduce.c|r->be->ops->add(r->be, part[older], part[newer], w->end - w->first);\n    return|r->be->ops->add(r->be, part[newer], part[older], w->end - w->first);\n    return|^train_reduce_np3$
absent_row_added|model/cpu/ops_rows.c|f.there[slot] = found[i] != NULL;|f.there[slot] = true;|^train_reduce
stripe_bound|train/reduce.c|return rank * stripes / ranks;|return rank * (stripes - 1) / ranks;|^train_reduce
shortest_digits|infer/number.c|digits <= MOST_DIGITS; digits++|digits < MOST_DIGITS - 1; digits++|^infer_number$
END
)

# Plants a fault in the copy, or without the last argument sees that it can be.
plant() { # FILE FROM [TO]
    python3 - "$@" <<'END'
import sys
path, *lines = [sys.argv[1], *(text.replace("\\n", "\n") for text in sys.argv[2:])]
text = open(path).read()
if text.count(lines[0]) != 1: sys.exit(f"'{lines[0]}' stands {text.count(lines[0])} times in {path}")
if len(lines) == 2: open(path, "w").write(text.replace(*lines))
END
}
if [ "${1:-}" = --check ]; then
    code=0
    while IFS='|' read -r name file from to tests; do
        plant "$file" "$from" || { echo "mutants: $name can't be planted any more: give it the line that now does its work" >&2; code=1; }
    done <<<"$mutants"
    exit $code
fi

for name in "$@"; do
    grep -q "^$name|" <<<"$mutants" || { echo "mutants: no '$name' in the list" >&2; exit 2; }
done
chosen=" $* "
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-mutants-XXXXXX")
trap 'rm -rf "$work"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$work"
build() { cmake --build "$work/build" >"$work/log" 2>&1; }
cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFRETSAW_BENCH=OFF -DFRETSAW_CUDA=OFF >"$work/log" 2>&1 && build ||
    { tail -n 30 "$work/log"; echo "mutants: the tree does not build" >&2; exit 4; }

planted=0 caught=0
# On descriptor 3: mpirun reads its standard input to the end, and with it the rest of the list.
while IFS='|' read -r name file from to tests <&3; do
    # A regular expression may hold bars of its own.
    [ "$chosen" = "  " ] || [[ $chosen == *" $name "* ]] || continue
    planted=$((planted + 1))
    cp "$work/$file" "$work/before"
    if ! plant "$work/$file" "$from" "$to"; then
        printf '%-22s the line to change was not found\n' "$name"
        continue
    fi
    if ! build; then
        printf '%-22s does not compile\n' "$name"
    elif ctest --test-dir "$work/build" --timeout 120 -R "${tests%|}" >"$work/log" 2>&1; then
        printf '%-22s SURVIVED %s\n' "$name" "${tests%|}"
    elif ! grep -q 'tests failed out of' "$work/log"; then
        printf '%-22s no such test: %s\n' "$name" "${tests%|}"
    else
        caught=$((caught + 1))
        printf '%-22s caught by %s\n' "$name" "$(sed -n 's/.*- \([a-z0-9_]*\) (.*/\1/p' "$work/log" | sort -u | paste -sd' ')"
    fi
    cp "$work/before" "$work/$file"
done 3<<<"$mutants"
build
echo "mutants: $caught of $planted caught"
[ $# -gt 0 ] || [ "$planted" = "$(grep -c '|' <<<"$mutants")" ] || { echo "mutants: not all were tried" >&2; exit 1; }
[ "$caught" = "$planted" ] && [ "$planted" -gt 0 ]
