// A reason is one line in the audit log, however it was typed.

/** The text with each run of white space as one space, and nothing that UTF-8 cannot carry. */
export const oneLine = (text) => wellFormed(text.replace(/\s+/g, ' ').trim());

const wellFormed = (text) => text.toWellFormed?.() ?? text.replace(/\p{Surrogate}/gu, '\ufffd');
