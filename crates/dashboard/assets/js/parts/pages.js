// The first items of a list that goes on: page by page from the server.

import { get } from '../api.js';

const PAGE_MAX = 1000;
/** A server may give short pages; a list is not followed forever. */
const REQUESTS_MAX = 20;

/** The first `most` items, or those that come `after`: `{items, more, next}`; `next` is where the following ones begin. */
export async function firstOf(path, params, { name, most, signal, after }) {
  const items = [];
  let requests = 0;
  do {
    const page = await get(path, { ...params, after, limit: Math.min(PAGE_MAX, most - items.length) }, signal);
    items.push(...page[name]);
    after = page.next;
    requests++;
  } while (after && items.length < most && requests < REQUESTS_MAX);
  return { items, more: Boolean(after), next: after };
}
