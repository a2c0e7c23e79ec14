/* `mlaforge completion`: completion for a shell, from the tables that parse the command line. */
#include "cli/cli.h"
#include "device/device.h"

typedef struct writer {
  FILE *to;
  mlaf_text values; /* of the option at hand */
} writer;

/* --- what an option's value may be --- */

static void add(mlaf_text *t, const char *word) { mlaf_text_fmt(t, "%s%s", t->len ? " " : "", word); }

static void add_words(mlaf_text *t, const mlaf_field *f) {
  for (int32_t w = mlaf_field_is_flag(f); f->words && w <= f->max; w++) add(t, f->words[w]);
}

/* Words that are known, separated by blanks; "" where any number or text may stand. */
static void values_of(cli_opt o, const cli_option *option, mlaf_text *t) {
  t->len = 0;
  if (!option->value) return;
  if (option->field) add_words(t, option->field);
  for (size_t i = 0; (o == O_MODEL || o == O_MODELS) && mlaf_model_at(i); i++) add(t, mlaf_model_at(i)->name);
  for (int i = 0; o == O_OP && mlaf_ops_all[i]; i++) add(t, mlaf_ops_all[i]->name);
  for (int i = 0; o == O_STRATEGY && i < MLAF_STRATEGY_COUNT; i++) add(t, mlaf_strategy_name((mlaf_strategy)i));
  if (o == O_DEVICE) add(t, "auto");
  for (int i = 0; o == O_DEVICE && mlaf_backends[i]; i++) add(t, mlaf_backends[i]->name);
  if (o == O_CHOICES) add(t, "user"), add(t, "site"), add(t, "shipped");
}

static bool is_path(const cli_option *option) {
  return option->value && (!strcmp(option->value, "FILE") || !strcmp(option->value, "DIR") || !strcmp(option->value, "PATH"));
}

/* The words that a command's first argument may be: "list | verify | gc" in its usage; "" where there are none. */
static void actions_of(const cli_command *command, mlaf_text *t) {
  t->len = 0;
  if (!strchr(command->arguments, '|')) return;
  for (const char *s = command->arguments, *bar; s; s = bar ? bar + 2 : NULL) {
    char word[24];
    bar = strstr(s, "| ");
    const size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz");
    if (!n || n >= sizeof word) continue;
    snprintf(word, sizeof word, "%.*s", (int)n, s);
    add(t, word);
  }
}

#define OPTIONS_OF(o, option, command) (int o = 0; o < O_COUNT; o++) if (mlaf_cli_option(command, (cli_opt)o, &(option)))
#define COMMANDS(x) (const cli_command *x = mlaf_cli_commands; (x)->name; (x)++)

/* --- bash --- */

static void bash_command(writer *w, const cli_command *x) {
  cli_option option;
  fprintf(w->to, "    %s)\n      case \"$prev\" in\n", x->name);
  for OPTIONS_OF(o, option, x) {
    values_of((cli_opt)o, &option, &w->values);
    if (is_path(&option))
      fprintf(w->to, "        --%s) COMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames; return ;;\n", option.name);
    else if (w->values.len) fprintf(w->to, "        --%s) words='%s' ;;\n", option.name, w->values.data);
    else if (option.value) fprintf(w->to, "        --%s) return ;;\n", option.name);
  }
  actions_of(x, &w->values);
  fprintf(w->to, "        *) words='%s", w->values.len ? w->values.data : "");
  for OPTIONS_OF(o, option, x) fprintf(w->to, " --%s", option.name);
  fprintf(w->to, "' ;;\n      esac ;;\n");
}

/* Bash cuts words at colons ("emu:gfx942"), so the line is split here, and what stands before a colon left out of the answer. */
static void bash(writer *w) {
  fprintf(w->to, "# bash completion for mlaforge, made by `mlaforge completion bash`\n_mlaforge() {\n"
         "  local line=\"${COMP_LINE:0:COMP_POINT}\" cur= prev= words=\n  local -a typed\n  read -ra typed <<< \"$line\"\n"
         "  [[ $line == *[[:space:]] ]] && typed+=('')\n"
         "  cur=\"${typed[-1]}\"\n  ((${#typed[@]} > 1)) && prev=\"${typed[-2]}\"\n  COMPREPLY=()\n"
         "  if ((${#typed[@]} == 2)); then words='");
  for COMMANDS(x) fprintf(w->to, "%s ", x->name);
  fprintf(w->to, "--help --version'\n  else\n    case \"${typed[1]}\" in\n");
  for COMMANDS(x) bash_command(w, x);
  fprintf(w->to, "    esac\n  fi\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "  [[ $cur == *:* ]] && COMPREPLY=(\"${COMPREPLY[@]#\"${cur%%\"${cur##*:}\"}\"}\")\n  return 0\n}\n"
         "complete -F _mlaforge mlaforge\n");
}

/* --- zsh --- */

/* Inside '...', where brackets and colons part a specification. */
static void zsh_text(writer *w, const char *text) {
  for (const char *s = text; *s; s++) {
    if (*s == '\'') fprintf(w->to, "'\\''");
    else if (strchr("[]:\\", *s)) fprintf(w->to, "\\%c", *s);
    else putc(*s, w->to);
  }
}

static void zsh_option(writer *w, cli_opt o, const cli_option *option) {
  values_of(o, option, &w->values);
  fprintf(w->to, " \\\n        '%s--%s[", o == O_VERBOSE ? "*" : "", option->name);
  zsh_text(w, option->help);
  fprintf(w->to, "]");
  if (option->value) fprintf(w->to, ":%s:", option->value);
  if (is_path(option)) fprintf(w->to, "_files");
  else if (w->values.len) fprintf(w->to, "("), zsh_text(w, w->values.data), fprintf(w->to, ")");
  fprintf(w->to, "'");
}

static void zsh(writer *w) {
  fprintf(w->to, "#compdef mlaforge\n# made by `mlaforge completion zsh`\n_mlaforge() {\n  local -a commands=(\n");
  for COMMANDS(x) {
    fprintf(w->to, "    '%s:", x->name);
    zsh_text(w, x->summary);
    fprintf(w->to, "'\n");
  }
  fprintf(w->to, "  )\n  if ((CURRENT == 2)); then _describe command commands; return; fi\n"
         "  local command=$words[2]\n  shift words\n  ((CURRENT--))\n"
         "  case $command in\n");
  for COMMANDS(x) {
    cli_option option;
    fprintf(w->to, "    %s)\n      _arguments", x->name);
    for OPTIONS_OF(o, option, x) zsh_option(w, (cli_opt)o, &option);
    actions_of(x, &w->values);
    if (w->values.len) fprintf(w->to, " \\\n        '1:action:(%s)'", w->values.data);
    fprintf(w->to, " ;;\n");
  }
  fprintf(w->to, "  esac\n}\n_mlaforge \"$@\"\n");
}

/* --- fish --- */

static void fish_text(writer *w, const char *text) {
  putc('\'', w->to);
  for (const char *s = text; *s; s++) fprintf(w->to, *s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
  putc('\'', w->to);
}

static void fish_option(writer *w, const cli_command *x, cli_opt o, const cli_option *option) {
  values_of(o, option, &w->values);
  fprintf(w->to, "complete -c mlaforge -n '__fish_seen_subcommand_from %s' -l %s", x->name, option->name);
  if (is_path(option)) fprintf(w->to, " -r -F");
  else if (option->value) fprintf(w->to, " -x");
  if (w->values.len) fprintf(w->to, " -a "), fish_text(w, w->values.data);
  fprintf(w->to, " -d "), fish_text(w, option->help), fprintf(w->to, "\n");
}

static void fish(writer *w) {
  cli_option option;
  fprintf(w->to, "# fish completion for mlaforge, made by `mlaforge completion fish`\ncomplete -c mlaforge -f\n");
  for COMMANDS(x) {
    fprintf(w->to, "complete -c mlaforge -n __fish_use_subcommand -a %s -d ", x->name);
    fish_text(w, x->summary);
    fprintf(w->to, "\n");
    for OPTIONS_OF(o, option, x) fish_option(w, x, (cli_opt)o, &option);
    actions_of(x, &w->values);
    if (!w->values.len) continue;
    fprintf(w->to, "complete -c mlaforge -n '__fish_seen_subcommand_from %s' -a ", x->name);
    fish_text(w, w->values.data);
    fprintf(w->to, "\n");
  }
}

/* The script on stdout, or in a JSON line. */
static mlaf_status write_out(cli *c, const char *shell, void (*print)(writer *w)) {
  char *text = NULL;
  size_t size = 0;
  writer w = {.to = c->json ? open_memstream(&text, &size) : stdout, .values = MLAF_TEXT_INIT(1 << 16)};
  if (w.to) print(&w);
  bool failed = !w.to || w.values.failed || (c->json && fclose(w.to));
  if (c->json && !failed)
    mlaf_cli_print("completion", TEXT("shell", shell), TEXT("script", text));
  free(text);
  mlaf_text_free(&w.values);
  return failed ? mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for the completion of %s", shell) : MLAF_OK;
}

int mlaf_cli_completion(cli *c) {
  static const struct {
    const char *name;
    void (*print)(writer *w);
  } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
  const char *wanted = c->n_arguments ? c->arguments[0] : "";
  for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
    if (!strcmp(shells[i].name, wanted)) return write_out(c, wanted, shells[i].print) ? mlaf_cli_fail(c) : CLI_OK;
  return *wanted ? mlaf_cli_usage(c, "there is no completion for '%s': bash, zsh and fish have one", wanted)
                 : mlaf_cli_usage(c, "say for which shell: mlaforge completion bash, zsh or fish");
}
