/* The way forward, top to bottom: embed, L times (attention, feed-forward), pool, head; then the loss. */
#include <assert.h>

#include "model/bert.h"
#include "model/bert_internal.h"

static void forward_embedding(bert *net, const batch *b)
{
    const backend_ops *ops = net->be->ops;
    const tensor_table *t = net->table;
    const float *word = bert_value(net, tensor_embedding(t, EMBED_WORD)), *position = bert_value(net, tensor_embedding(t, EMBED_POSITION));
    const float *type = bert_value(net, tensor_embedding(t, EMBED_TYPE));
    const float *gamma = bert_value(net, tensor_embedding(t, EMBED_NORM_WEIGHT)), *beta = bert_value(net, tensor_embedding(t, EMBED_NORM_BIAS));
    const dropout drop = bert_site(net, net->drop.hidden, 0, SITE_EMBEDDING);
    double clock = phase_clock();
    ops->embed_forward(net->be, b, t->config.hidden, word, position, type, gamma, beta, (float)t->config.layer_norm_epsilon, &drop, net->sum0,
                       net->mean0, net->rstd0, net->z0);
    bert_count_memory(net, PHASE_EMBED, b->tokens, t->config.hidden, 4);
    phase_add(&net->timer, PHASE_EMBED, clock);
}

/* z1 = norm(x + dropout(project(attention(x)))) */
static void forward_attention(bert *net, const batch *b, int64_t i)
{
    const backend_ops *ops = net->be->ops;
    const model_config *m = &net->table->config;
    const int64_t T = b->tokens, H = m->hidden, N = m->heads;
    const bert_layer *y = &net->layers[i];
    const dropout drop_probability = bert_site(net, net->drop.attention, i, SITE_ATTENTION);
    const dropout drop_out = bert_site(net, net->drop.hidden, i, SITE_ATTENTION_OUT);
    double clock = phase_clock();
    ops->linear_forward(net->be, T, H, H, y->x, bert_layer_value(net, i, LAYER_QUERY_WEIGHT), bert_layer_value(net, i, LAYER_QUERY_BIAS), y->q);
    ops->linear_forward(net->be, T, H, H, y->x, bert_layer_value(net, i, LAYER_KEY_WEIGHT), bert_layer_value(net, i, LAYER_KEY_BIAS), y->k);
    ops->linear_forward(net->be, T, H, H, y->x, bert_layer_value(net, i, LAYER_VALUE_WEIGHT), bert_layer_value(net, i, LAYER_VALUE_BIAS), y->v);
    bert_count_linear(net, PHASE_QKV, T, H, 3 * H);
    clock = phase_add(&net->timer, PHASE_QKV, clock);
    ops->attention_forward(net->be, b, H, N, y->q, y->k, y->v, &drop_probability, y->attended, y->row_max, y->row_sum);
    bert_count_attention(net, PHASE_ATTENTION, b, 2);
    clock = phase_add(&net->timer, PHASE_ATTENTION, clock);
    ops->linear_forward(net->be, T, H, H, y->attended, bert_layer_value(net, i, LAYER_PROJECT_WEIGHT), bert_layer_value(net, i, LAYER_PROJECT_BIAS),
                        net->branch);
    bert_count_linear(net, PHASE_PROJECT, T, H, H);
    clock = phase_add(&net->timer, PHASE_PROJECT, clock);
    ops->residual_norm_forward(net->be, b, H, y->x, net->branch, &drop_out, bert_layer_value(net, i, LAYER_NORM1_WEIGHT),
                               bert_layer_value(net, i, LAYER_NORM1_BIAS), (float)m->layer_norm_epsilon, y->sum1, y->mean1, y->rstd1, y->z1);
    bert_count_memory(net, PHASE_NORM, T, H, 4);
    phase_add(&net->timer, PHASE_NORM, clock);
}

/* z2 = norm(z1 + dropout(down(gelu(up(z1))))) */
static void forward_feed_forward(bert *net, const batch *b, int64_t i)
{
    const backend_ops *ops = net->be->ops;
    const model_config *m = &net->table->config;
    const int64_t T = b->tokens, H = m->hidden, F = m->feed_forward;
    const bert_layer *y = &net->layers[i];
    const dropout drop_out = bert_site(net, net->drop.hidden, i, SITE_FEED_FORWARD_OUT);
    double clock = phase_clock();
    ops->linear_gelu_forward(net->be, T, H, F, y->z1, bert_layer_value(net, i, LAYER_UP_WEIGHT), bert_layer_value(net, i, LAYER_UP_BIAS), y->pre,
                             y->act);
    bert_count_linear(net, PHASE_UP, T, H, F);
    clock = phase_add(&net->timer, PHASE_UP, clock);
    ops->linear_forward(net->be, T, F, H, y->act, bert_layer_value(net, i, LAYER_DOWN_WEIGHT), bert_layer_value(net, i, LAYER_DOWN_BIAS),
                        net->branch);
    bert_count_linear(net, PHASE_DOWN, T, F, H);
    clock = phase_add(&net->timer, PHASE_DOWN, clock);
    ops->residual_norm_forward(net->be, b, H, y->z1, net->branch, &drop_out, bert_layer_value(net, i, LAYER_NORM2_WEIGHT),
                               bert_layer_value(net, i, LAYER_NORM2_BIAS), (float)m->layer_norm_epsilon, y->sum2, y->mean2, y->rstd2, y->z2);
    bert_count_memory(net, PHASE_NORM, T, H, 4);
    phase_add(&net->timer, PHASE_NORM, clock);
}

static void forward_head(bert *net, const batch *b)
{
    const backend_ops *ops = net->be->ops;
    const tensor_table *t = net->table;
    const int64_t H = t->config.hidden, C = t->outputs;
    const dropout drop = bert_site(net, net->drop.head, 0, SITE_HEAD);
    double clock = phase_clock();
    ops->pool_forward(net->be, b, H, bert_hidden(net), net->pooled, net->argmax);
    ops->head_forward(net->be, b, H, C, net->pooled, &drop, bert_value(net, tensor_out_weight(t)), bert_value(net, tensor_out_bias(t)), net->dropped,
                      net->logits);
    phase_add(&net->timer, PHASE_HEAD, clock);
}

const float *bert_forward(bert *net, const batch *b)
{
    assert(b->tokens <= net->limits.tokens && b->rows <= net->limits.rows && b->longest <= net->limits.longest && b->rows > 0);
    forward_embedding(net, b);
    for (int64_t i = 0; i < net->table->config.layers; i++) {
        forward_attention(net, b, i);
        forward_feed_forward(net, b, i);
    }
    forward_head(net, b);
    return net->logits;
}

void bert_loss(bert *net, const batch *b, float factor, double *row_loss)
{
    assert(b->label);
    double clock = phase_clock();
    net->be->ops->loss_forward(net->be, b, net->table->outputs, net->logits, factor, row_loss, net->dlogits);
    phase_add(&net->timer, PHASE_HEAD, clock);
}

void bert_wait_loss(bert *net)
{
    double clock = phase_clock();
    net->be->ops->wait_loss(net->be);
    phase_add(&net->timer, PHASE_HEAD, clock);
}

void bert_probabilities(bert *net, const batch *b, float *out)
{
    const int64_t n = b->rows * net->table->outputs;
    net->be->ops->sigmoid(net->be, n, net->logits, net->probability);
    net->be->ops->download(net->be, out, net->probability, (size_t)n * sizeof(float));
}
