/* completion.c: kinformer completion: scripts for bash, zsh and fish. The scripts ask the program for candidates
 * (complete.h). */
#include "flags.h"
#include "output.h"

#include <errno.h>
#include <string.h>

static const char bash_script[] =
    "# bash completion for kinformer; made by: kinformer completion bash\n"
    "_kinformer() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} line\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do COMPREPLY+=(\"${line%%$'\\t'*}\"); done < <(\n"
    "        \"${COMP_WORDS[0]}\" __complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "    if [[ ${COMPREPLY[0]} == :files ]]; then\n"
    "        [[ $cur == = ]] && cur=\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
    "    elif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then\n"
    "        compopt -o nospace 2>/dev/null\n"
    "    fi\n"
    "}\n"
    "complete -F _kinformer kinformer\n";

static const char zsh_script[] =
    "#compdef kinformer\n"
    "# zsh completion for kinformer; made by: kinformer completion zsh\n"
    "_kinformer() {\n"
    "    local -a lines plain open shown_plain shown_open\n"
    "    local one word shown\n"
    "    lines=(\"${(@f)$(${words[1]} __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    if [[ $lines[1] == :files ]]; then _files; return; fi\n"
    "    for one in $lines; do\n"
    "        word=${one%%$'\\t'*} shown=${one/$'\\t'/  -- }\n"
    "        if [[ $word == *= ]]; then open+=($word); shown_open+=($shown)\n"
    "        else plain+=($word); shown_plain+=($shown); fi\n"
    "    done\n"
    "    compadd -l -d shown_plain -a plain\n"
    "    compadd -S '' -l -d shown_open -a open\n"
    "}\n"
    "if [ \"$funcstack[1]\" = _kinformer ]; then _kinformer \"$@\"; else compdef _kinformer kinformer; fi\n";

static const char fish_script[] = "# fish completion for kinformer; made by: kinformer completion fish\n"
                                  "function __kinformer_complete\n"
                                  "    set -l words (commandline -opc)\n"
                                  "    set -l program $words[1]\n"
                                  "    set -e words[1]\n"
                                  "    set -l last (commandline -ct)\n"
                                  "    set -l lines ($program __complete $words \"$last\" 2>/dev/null)\n"
                                  "    if test \"$lines[1]\" = :files\n"
                                  "        __fish_complete_path \"$last\"\n"
                                  "    else\n"
                                  "        printf '%s\\n' $lines\n"
                                  "    end\n"
                                  "end\n"
                                  "complete -c kinformer -f -a '(__kinformer_complete)'\n";

/* ---- the command ---- */

static const struct {
    const char *name;
    const char *file; /* the file name that the shell expects */
    const char *script;
} shells[] = { { "bash", "kinformer", bash_script },
               { "zsh", "_kinformer", zsh_script },
               { "fish", "kinformer.fish", fish_script } };
enum {
    SHELLS = sizeof shells / sizeof shells[0]
};

static int write_all(const char *directory) {
    for (size_t i = 0; i < SHELLS; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, shells[i].file);
        FILE *out = fopen(path, "we");
        if (out)
            fputs(shells[i].script, out);
        if (!out || fclose(out)) {
            say("completion", "cannot write %s: %s", path, strerror(errno));
            return EXIT_FAILED;
        }
    }
    return EXIT_OK;
}

static int run_completion(const options *o) {
    if (o->directory)
        return write_all(o->directory);
    for (size_t i = 0; o->arguments[0] && i < SHELLS; i++) {
        if (strcmp(o->arguments[0], shells[i].name) != 0)
            continue;
        fputs(shells[i].script, stdout);
        return output_flush() ? EXIT_OK : output_status();
    }
    say("completion", "name a shell: bash, zsh or fish");
    return EXIT_USAGE;
}

static const flag flags[] = { FLAG("directory", 0, FLAG_TEXT, directory, "DIR",
                                   "write all three scripts there: kinformer (bash), _kinformer (zsh), kinformer.fish"),
                              FLAGS_END };
static const flag *const tables[] = { flags, NULL };

const cli_command command_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .purpose = "print a script that completes commands, flags, resources and names in a shell",
    .text = "  source <(kinformer completion bash)\n"
            "  kinformer completion zsh > \"${fpath[1]}/_kinformer\"\n"
            "  kinformer completion fish > ~/.config/fish/completions/kinformer.fish\n",
    .max_arguments = 1,
    .flags = tables,
    .run = run_completion,
};
