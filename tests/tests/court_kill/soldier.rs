//! What soldiers do, by the type of their task.

/// Says to `lines` which attempt begins, and that no two of one task run at once; then does what its type says.
///
/// `$1` is a directory for marks: what is done once is done by whoever makes the mark.
pub(crate) const SCRIPT: &str = r#"set -eu
exec 9>"$1/$MUSTER_TASK_ID.lock"
flock -n 9 || { echo "two $MUSTER_TASK_ID" >>"$1/lines"; exit 99; }
echo "begin $MUSTER_RESULT_PATH" >>"$1/lines"
leave() {
  echo "{\"task_id\": \"$MUSTER_TASK_ID\", $1}" >"$MUSTER_RESULT_PATH.part"
  mv "$MUSTER_RESULT_PATH.part" "$MUSTER_RESULT_PATH"
}
once() {
  mkdir "$marks/$MUSTER_TASK_ID.once" 2>/dev/null
}
marks=$1
while read -r line; do
  case $line in '"type":'*) type=$line ;; esac
done <"$MUSTER_TASK_PATH"
case $type in
  *resume*) leave '"status": "success", "summary": "went on"' ;;
  *ask*) leave '"status": "needs_human", "summary": "stands still", "question": "Which way?"' ;;
  *skip*) leave '"status": "skipped", "summary": "", "reason": "nothing to do"' ;;
  *fail*) leave '"status": "failed", "summary": "", "error": "as ever"' ;;
  *stumble*) once && exit 3; leave '"status": "success", "summary": "at the second try"' ;;
  *slow*) setsid sleep 600 & sleep 0.3; leave '"status": "success", "summary": "at last"' ;;
  *shout*) leave '"status": "success", "summary": "done", "proclamation": {"channel": "all", "message": "Hear!"}' ;;
  *) leave '"status": "success", "summary": "done"' ;;
esac
"#;
