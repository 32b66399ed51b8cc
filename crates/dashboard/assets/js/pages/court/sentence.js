// The court tells in English sentences of a few forms; here their forms and what varies in them are told apart. Pure.

/** What a station says: `{key, values}` for a text of `court.what_…`, or null for a form that is not known. */
export function readSentence(text) {
  for (const [key, form, ...names] of FORMS) {
    const found = form.exec(text);
    if (found) return { key: `court.what_${key}`, values: Object.fromEntries(names.map((name, index) => [name, found[index + 1]])) };
  }
  return null;
}

const FORMS = [
  ['event', /^event (\S+) \((.*)\) came from (.*)$/s, 'id', 'kind', 'source'],
  ['planned', /^the king made it the task (\S*) for (.*)$/s, 'id', 'general'],
  ['event_ended', /^the event ended as (\w+)$/, 'status'],
  ['event_ended_why', /^the event ended as (\w+): (.*)$/s, 'status', 'why'],
  ['task', /^task (\S+) \((.*)\) was made for (.*)$/s, 'id', 'kind', 'general'],
  ['resumed', /^it goes on with the answer to (.*)$/s, 'id'],
  ['message_written', /^message (\S+) \((.*)\) to (.*) was written$/s, 'id', 'kind', 'channel'],
  ['message_posted', /^message (\S+) \((.*)\) to (.*) was posted$/s, 'id', 'kind', 'channel'],
  ['message_failed', /^message (\S+) \((.*?)\) to (.*?) could not be posted: (.*)$/s, 'id', 'kind', 'channel', 'why'],
  ['message_waits', /^message (\S+) \((.*)\) to (.*) waits for the envoy$/s, 'id', 'kind', 'channel'],
  ['attempt_began', /^attempt (\d+) began$/, 'number'],
  ['attempt_runs', /^attempt (\d+) is under way$/, 'number'],
  ['attempt_remote', /^attempt (\d+) is under way, as the (\S*) (.*) of the coordinator$/s, 'number', 'remote', 'id'],
  ['attempt_ended', /^attempt (\d+) ended as (\w+)$/, 'number', 'status'],
  ['attempt_ended_why', /^attempt (\d+) ended as (\w+): (.*)$/s, 'number', 'status', 'why'],
  ['result', /^the result is (\w+): ?(.*)$/s, 'status', 'why'],
  ['asked', /^it asked: (.*)$/s, 'why'],
  ['unanswered', /^nobody has answered; `muster court reply \S+ TEXT` does$/],
  ['answer', /^the answer (\S+) came: (.*)$/s, 'id', 'why'],
  ['goes_on', /^the task (\S+) goes on with it$/, 'id'],
  ['unreadable', /^(\S+) cannot be read: (.*)$/s, 'id', 'why'],
];
