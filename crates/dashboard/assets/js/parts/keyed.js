// A list of elements that stay what they are while the list changes: what is typed or focused in one survives.

/** Draws `items` into `parent`: `make(item)` gives `{element, update?(item)}` once per id; ids that are gone are removed. */
export function keyed(parent, id, make) {
  const drawn = new Map();
  return (items) => {
    const kept = new Set(items.map(id));
    for (const [key, part] of drawn) {
      if (kept.has(key)) continue;
      part.element.remove();
      drawn.delete(key);
    }
    let before = null;
    for (const item of items) {
      const part = drawn.get(id(item)) ?? make(item);
      drawn.set(id(item), part);
      part.update?.(item);
      const place = before ? before.nextSibling : parent.firstChild;
      if (part.element !== place) parent.insertBefore(part.element, place);
      before = part.element;
    }
  };
}
