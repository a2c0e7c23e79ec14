/* `mlaforge tune` in parts. */
#pragma once

#include "cli/layer.h"
#include "cli/cli.h"

/* State of a grid of problems. */
typedef struct campaign {
  cli *c;
  const mlaf_point *list;
  size_t n, at;         /* problems, the one under way */
  size_t workers;       /* that share the problems and their time */
  mlaf_tuner_opts opts;
  mlaf_gen *gen;
  mlaf_verified *verified; /* by all problems so far */
  mlaf_learned *learned;   /* of the model, by all problems so far */
  double start, limit_s;
  size_t tried, failed, choices, without; /* of all problems so far, the one under way too */
  mlaf_guesses guesses; /* of the model's, for all problems so far */
  bool begun;           /* the problem under way was stopped behind some of its candidates */
  /* Says of campaigns that share a list how many of its problems are finished, and the seconds left. NULL: it is alone */
  double (*together)(void *user, size_t *finished);
  void *user;
} campaign;

/* --- cmd_tune.c --- */
mlaf_status mlaf_cli_tune_options(cli *c, campaign *g);
/* The problem g->list[g->at]. One without a passing candidate is a finding, and the next may do better: it is counted. */
mlaf_status mlaf_cli_tune_one(campaign *g);
/* Seconds that candidates may take, roughly: `tries` of them with so many distinct kernels. */
double mlaf_cli_tune_estimate(const cli *c, const mlaf_device_info *dev, size_t tries, size_t kernels);
size_t mlaf_cli_distinct(const mlaf_variant *list, size_t n, size_t tries);
const char *mlaf_cli_in_words(double s, char out[32]);

/* --- serve_cases.c --- */
/* A whole layer with one number of requests: each has so many tokens, `q_len` of them new. */
typedef struct serve_layer {
  const mlaf_model *model;
  int32_t tp, batch, ctx, q_len;
  mlaf_point point; /* what its choice is stored for */
} serve_layer;
/* Work of --serve: the problems of all operations of the models, attention's first, and their layers, one for each class of
 * tokens and context. To be freed with mlaf_cli_serve_free. */
typedef struct serve_work {
  cli_problems problems;
  serve_layer *layers;
  size_t n_layers;
  int32_t encoding, page_size; /* --weights, --page-size */
} serve_work;
mlaf_status mlaf_cli_serve_work(cli *c, serve_work *out);
void mlaf_cli_serve_free(serve_work *w);
/* The layer's description; *requests is malloc'ed by it. E_NOMEM. */
mlaf_status mlaf_cli_serve_setup(cli *c, const serve_work *w, const serve_layer *l, layer_setup *out, layer_request **requests);

/* --- tune_serve.c --- */
int mlaf_cli_tune_serve(cli *c); /* tune --serve */
