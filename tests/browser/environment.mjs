// What the tests are given: a server, the right to do anything there, and a place for pictures.

/** Where the server is. */
export const base = required('MUSTER_URL').replace(/\/$/, '');
/** The admin token. */
export const adminToken = required('MUSTER_TOKEN');
/** Where screenshots go; nowhere if it is absent. */
export const shots = process.env.MUSTER_SHOTS;
/** The browser. */
export const chromiumPath = process.env.MUSTER_CHROMIUM ?? '/usr/bin/chromium';
/** Whether the server shows a court (`muster serve --court`). */
export const hasCourt = Boolean(process.env.MUSTER_COURT);

function required(name) {
  const value = process.env[name];
  if (value) return value;
  console.error(`${name} is not set: MUSTER_URL is the server, MUSTER_TOKEN its admin token`);
  process.exit(2);
}
