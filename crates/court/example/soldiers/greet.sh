#!/bin/sh
# A soldier: reads its task, does it, and leaves a result. Exit code and output are for the log; only the result counts.
#
# Text from a payload is nobody's friend: what is taken from it here has only letters, digits and a few signs, so that it
# can be written into JSON as it is. A soldier in another language reads the file with a JSON parser instead.
set -eu

# Says that it is at work; each sign of life starts the time limit anew.
touch "$MUSTER_HEARTBEAT_PATH"

# The member of a task that is such a plain text, or nothing.
member() {
    sed -n 's/.*"'"$1"'": *"\([A-Za-z0-9 .,!?_-]*\)".*/\1/p' "$MUSTER_TASK_PATH" | head -n 1
}

# The result appears as a whole, or not at all.
leave() {
    cat > "$MUSTER_RESULT_PATH.part"
    mv "$MUSTER_RESULT_PATH.part" "$MUSTER_RESULT_PATH"
}

if grep -q '^  "type": "resume"' "$MUSTER_TASK_PATH"; then
    answer=$(member text)
    leave <<END
{"task_id": "$MUSTER_TASK_ID", "status": "success", "summary": "Hello, ${answer:-whoever you are}, and thank you for the answer."}
END
elif grep -q '"ask": *true' "$MUSTER_TASK_PATH"; then
    leave <<END
{"task_id": "$MUSTER_TASK_ID", "status": "needs_human", "summary": "I do not know whom to greet.", "question": "Whom shall I greet?"}
END
else
    name=$(member name)
    leave <<END
{"task_id": "$MUSTER_TASK_ID", "status": "success", "summary": "Hello, ${name:-world}!"}
END
fi
