/* The way back, bert_forward.c from bottom to top. net->dx carries the gradient of the residual stream: of a layer's output when
 * the layer begins, of its input when it ends. Gradients of parameters are added to the lane's. */
#include <assert.h>

#include "model/bert.h"
#include "model/bert_internal.h"

static float *embedding_gradient(const bert *net, gradient *g, int which)
{
    return g->dense + tensor_embedding(net->table, which)->gradient;
}

static float *layer_gradient(const bert *net, gradient *g, int64_t layer, int which)
{
    return g->dense + tensor_layer(net->table, layer, which)->gradient;
}

static void backward_weight(bert *net, int64_t T, int64_t I, int64_t O, const float *x, const float *dy, gradient *g, int64_t layer, int which)
{
    const backend_ops *ops = net->be->ops;
    float *weight = layer_gradient(net, g, layer, which), *bias = layer_gradient(net, g, layer, which + 1), *fold[TREE_DEPTH];
    for (int i = 0; i < g->folds; i++)
        fold[i] = g->fold[i] + (weight - g->dense);
    if (ops->linear_fold_weight)
        ops->linear_fold_weight(net->be, T, I, O, x, dy, weight, bias, !g->begun, g->folds, fold);
    else
        ops->linear_backward_weight(net->be, T, I, O, x, dy, weight, bias);
}

static void backward_head(bert *net, const batch *b, gradient *g)
{
    const backend_ops *ops = net->be->ops;
    const tensor_table *t = net->table;
    const dropout drop = bert_site(net, net->drop.head, 0, SITE_HEAD);
    double clock = phase_clock();
    ops->head_backward(net->be, b, t->config.hidden, t->outputs, net->dlogits, net->dropped, &drop, bert_value(net, tensor_out_weight(t)),
                       net->dpooled, g->dense + tensor_out_weight(t)->gradient, g->dense + tensor_out_bias(t)->gradient);
    ops->pool_backward(net->be, b, t->config.hidden, net->dpooled, net->argmax, net->dx);
    phase_add(&net->timer, PHASE_BACK_HEAD, clock);
}

/* dact: from the down projection's output to the value before gelu. Returns the clock. */
static double backward_down_input(bert *net, int64_t T, int64_t i, double clock)
{
    const backend_ops *ops = net->be->ops;
    const int64_t H = net->table->config.hidden, F = net->table->config.feed_forward;
    const float *weight = bert_layer_value(net, i, LAYER_DOWN_WEIGHT), *pre = net->layers[i].pre;
    bert_count_linear(net, PHASE_BACK_DOWN, T, F, H);
    if (ops->linear_gelu_backward_input) {
        ops->linear_gelu_backward_input(net->be, T, F, H, net->branch, weight, pre, net->dact);
        return phase_add(&net->timer, PHASE_BACK_DOWN, clock);
    }
    ops->linear_backward_input(net->be, T, F, H, net->branch, weight, net->dact, 0);
    clock = phase_add(&net->timer, PHASE_BACK_DOWN, clock);
    ops->gelu_backward(net->be, T * F, pre, net->dact, net->dact);
    bert_count_memory(net, PHASE_BACK_GELU, T, F, 3);
    return phase_add(&net->timer, PHASE_BACK_GELU, clock);
}

/* dx: from z2 to z1. */
static void backward_feed_forward(bert *net, const batch *b, gradient *g, int64_t i)
{
    const backend_ops *ops = net->be->ops;
    const model_config *m = &net->table->config;
    const int64_t T = b->tokens, H = m->hidden, F = m->feed_forward;
    const bert_layer *y = &net->layers[i];
    const dropout drop_out = bert_site(net, net->drop.hidden, i, SITE_FEED_FORWARD_OUT);
    double clock = phase_clock();
    ops->residual_norm_backward(net->be, b, H, net->dx, y->sum2, y->mean2, y->rstd2, bert_layer_value(net, i, LAYER_NORM2_WEIGHT), &drop_out, net->dx,
                                net->branch, layer_gradient(net, g, i, LAYER_NORM2_WEIGHT), layer_gradient(net, g, i, LAYER_NORM2_BIAS));
    bert_count_memory(net, PHASE_BACK_NORM, T, H, 6);
    clock = phase_add(&net->timer, PHASE_BACK_NORM, clock);
    backward_weight(net, T, F, H, y->act, net->branch, g, i, LAYER_DOWN_WEIGHT);
    bert_count_linear(net, PHASE_BACK_DOWN_WEIGHT, T, F, H);
    clock = phase_add(&net->timer, PHASE_BACK_DOWN_WEIGHT, clock);
    clock = backward_down_input(net, T, i, clock);
    backward_weight(net, T, H, F, y->z1, net->dact, g, i, LAYER_UP_WEIGHT);
    bert_count_linear(net, PHASE_BACK_UP_WEIGHT, T, H, F);
    clock = phase_add(&net->timer, PHASE_BACK_UP_WEIGHT, clock);
    ops->linear_backward_input(net->be, T, H, F, net->dact, bert_layer_value(net, i, LAYER_UP_WEIGHT), net->dx, 1);
    bert_count_linear(net, PHASE_BACK_UP, T, H, F);
    phase_add(&net->timer, PHASE_BACK_UP, clock);
}

/* One of query, key and value: `weight` is its place in the table, the bias follows it. */
static void backward_projection(bert *net, int64_t T, gradient *g, int64_t i, int weight, const float *dy)
{
    const backend_ops *ops = net->be->ops;
    const int64_t H = net->table->config.hidden;
    double clock = phase_clock();
    backward_weight(net, T, H, H, net->layers[i].x, dy, g, i, weight);
    bert_count_linear(net, PHASE_BACK_QKV_WEIGHT, T, H, H);
    clock = phase_add(&net->timer, PHASE_BACK_QKV_WEIGHT, clock);
    ops->linear_backward_input(net->be, T, H, H, dy, bert_layer_value(net, i, weight), net->dx, 1);
    bert_count_linear(net, PHASE_BACK_QKV, T, H, H);
    phase_add(&net->timer, PHASE_BACK_QKV, clock);
}

/* dx: from z1 to the layer's input. */
static void backward_attention(bert *net, const batch *b, gradient *g, int64_t i)
{
    const backend_ops *ops = net->be->ops;
    const model_config *m = &net->table->config;
    const int64_t T = b->tokens, H = m->hidden, N = m->heads;
    const bert_layer *y = &net->layers[i];
    const dropout drop_probability = bert_site(net, net->drop.attention, i, SITE_ATTENTION);
    const dropout drop_out = bert_site(net, net->drop.hidden, i, SITE_ATTENTION_OUT);
    double clock = phase_clock();
    ops->residual_norm_backward(net->be, b, H, net->dx, y->sum1, y->mean1, y->rstd1, bert_layer_value(net, i, LAYER_NORM1_WEIGHT), &drop_out, net->dx,
                                net->branch, layer_gradient(net, g, i, LAYER_NORM1_WEIGHT), layer_gradient(net, g, i, LAYER_NORM1_BIAS));
    bert_count_memory(net, PHASE_BACK_NORM, T, H, 6);
    clock = phase_add(&net->timer, PHASE_BACK_NORM, clock);
    backward_weight(net, T, H, H, y->attended, net->branch, g, i, LAYER_PROJECT_WEIGHT);
    bert_count_linear(net, PHASE_BACK_PROJECT_WEIGHT, T, H, H);
    clock = phase_add(&net->timer, PHASE_BACK_PROJECT_WEIGHT, clock);
    ops->linear_backward_input(net->be, T, H, H, net->branch, bert_layer_value(net, i, LAYER_PROJECT_WEIGHT), net->dattended, 0);
    bert_count_linear(net, PHASE_BACK_PROJECT, T, H, H);
    clock = phase_add(&net->timer, PHASE_BACK_PROJECT, clock);
    ops->attention_backward(net->be, b, H, N, y->q, y->k, y->v, &drop_probability, y->attended, y->row_max, y->row_sum, net->dattended, net->dq,
                            net->dk, net->dv);
    bert_count_attention(net, PHASE_BACK_ATTENTION, b, 5);
    phase_add(&net->timer, PHASE_BACK_ATTENTION, clock);
    backward_projection(net, T, g, i, LAYER_QUERY_WEIGHT, net->dq);
    backward_projection(net, T, g, i, LAYER_KEY_WEIGHT, net->dk);
    backward_projection(net, T, g, i, LAYER_VALUE_WEIGHT, net->dv);
}

static void backward_embedding(bert *net, const batch *b, gradient *g)
{
    const backend_ops *ops = net->be->ops;
    const dropout drop = bert_site(net, net->drop.hidden, 0, SITE_EMBEDDING);
    double clock = phase_clock();
    for (int64_t t = 0; t < b->tokens; t++)
        net->slot[t] = gradient_slot(g, b->id[t]);
    ops->embed_backward(net->be, b, net->table->config.hidden, net->dx, net->sum0, net->mean0, net->rstd0,
                        bert_value(net, tensor_embedding(net->table, EMBED_NORM_WEIGHT)), &drop, net->slot, net->branch,
                        embedding_gradient(net, g, EMBED_NORM_WEIGHT), embedding_gradient(net, g, EMBED_NORM_BIAS), g->rows,
                        embedding_gradient(net, g, EMBED_POSITION), embedding_gradient(net, g, EMBED_TYPE));
    phase_add(&net->timer, PHASE_BACK_EMBED, clock);
}

void bert_tell(bert *net, void (*ready)(void *arg, int64_t first), void *arg)
{
    net->ready = ready;
    net->ready_arg = arg;
}

static void tell(const bert *net, int64_t first)
{
    if (net->ready)
        net->ready(net->ready_arg, first);
}

void bert_backward(bert *net, const batch *b, gradient *g)
{
    assert(net->mode == BERT_TRAINING && b->tokens <= net->limits.tokens);
    backward_head(net, b, g);
    tell(net, tensor_out_weight(net->table)->gradient);
    for (int64_t i = net->table->config.layers - 1; i >= 0; i--) {
        backward_feed_forward(net, b, g, i);
        backward_attention(net, b, g, i);
        tell(net, tensor_layer(net->table, i, LAYER_QUERY_WEIGHT)->gradient);
    }
    backward_embedding(net, b, g);
    g->begun = true;
    tell(net, 0);
}
