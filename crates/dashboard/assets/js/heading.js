// Where the focus goes when another page is there.

/**
 * Notes where the focus is when a page begins to open. The function that it returns is for when the page is there: it moves
 * the focus to the heading, so that screen readers announce the page. A page shows its heading before its data; anyone who
 * has moved the focus meanwhile, or types, is left alone.
 */
export function headingFocus(main, signal) {
  const before = document.activeElement;
  return () => {
    const active = document.activeElement;
    const isTyping = active?.matches('input, select, textarea, dialog *');
    const isInside = active !== main && main.contains(active);
    // What had the focus may be gone with the page before; then the body has it.
    const hasMoved = active && active !== before && active !== document.body;
    if (!signal.aborted && !isTyping && !isInside && !hasMoved) main.querySelector('h1')?.focus({ preventScroll: true });
  };
}
