// Where the focus goes when another page is there.

/** Tells readers of the screen that another page is there; whoever types meanwhile, or has gone on into it, is left alone. */
export function focusHeading(main, signal) {
  const active = document.activeElement;
  const isTyping = active?.matches('input, select, textarea, dialog *');
  const isInside = active !== main && main.contains(active);
  if (!signal.aborted && !isTyping && !isInside) main.querySelector('h1')?.focus({ preventScroll: true });
}
