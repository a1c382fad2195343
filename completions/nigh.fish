# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# fish completion for nigh, by bash's, which lies in ../../bash-completion where nigh is installed.
set -g __nigh_completion (status dirname)/../../bash-completion/completions/nigh
function __nigh_complete
    bash $__nigh_completion (commandline -opc) (commandline -ct) 2>/dev/null | string match -v ''
end
complete -c nigh -a '(__nigh_complete)'
