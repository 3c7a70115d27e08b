# Sourced: the commands of a page, so that a test runs what people read.
#     doc_block FILE NAME       # prints the fenced block that follows the line <!-- NAME --> in FILE; an error where there is none
doc_block() {
    local text
    text=$(awk -v mark="<!-- $2 -->" '$0 == mark { wanted = 1; next } wanted && /^```/ { if (inside) exit; inside = 1; next } inside { print }' "$1")
    [ -n "$text" ] || { echo "wrong: $1 has no block '$2'" >&2; return 1; }
    printf '%s\n' "$text"
}
