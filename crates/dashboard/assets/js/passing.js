// Which troubles pass by themselves.

/** Whether asking again may help: no answer at all, a server in trouble, too many requests. */
export const isPassing = ({ status }) => status === 0 || status === 408 || status === 429 || status >= 500;
