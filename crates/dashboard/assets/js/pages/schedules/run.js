// What a form about a schedule says, as the server takes it. Pure.

/** The body of `POST /api/schedules`. Throws a refusal like the server's where the parameters are no JSON. */
export function runOf(form, t) {
  const text = (name) => form.get(name)?.trim() || undefined;
  const run = { workflow_id: text('run.workflow_id'), title: text('run.title'), params: paramsOf(text('run.params'), t), scope: scopeOf(form.get('scope'), text('run.scope') ?? '') };
  return { cron: text('cron'), timezone: text('timezone'), missed: form.get('missed'), run };
}

function paramsOf(text, t) {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch (error) {
    const message = t('schedules.no_json', { fault: error.message });
    throw Object.assign(new Error(message), { status: 422, problem: { field: 'run.params' } });
  }
}

function scopeOf(way, names) {
  const list = names.split(/[,\s]+/).filter(Boolean);
  if (way === 'pcs' || way === 'devices') return { [way]: list };
  if (way === 'labels') return { labels: Object.fromEntries(list.map(pairOf)) };
  return undefined;
}

function pairOf(text) {
  const [key, ...value] = text.split('=');
  return [key, value.join('=')];
}
