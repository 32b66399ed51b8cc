// What the tests are given: a server, the right to do anything there, and a place for pictures.

/** Where the server is. */
export const base = required('MUSTER_URL').replace(/\/$/, '');
/** The admin token. */
export const adminToken = required('MUSTER_TOKEN');
/** Where screenshots go; nowhere if it is absent. */
export const shots = process.env.MUSTER_SHOTS;
/** Where the pictures of the documentation go, if they are to be made. */
export const picturesTo = process.env.MUSTER_PICTURES;
/** The browser. */
export const chromiumPath = process.env.MUSTER_CHROMIUM ?? '/usr/bin/chromium';
/** The languages to look at: those named in `MUSTER_LANGUAGES`, or all. */
export const chosenLanguages = process.env.MUSTER_LANGUAGES?.split(',');
/** The secret with which simulation workers enrol; tests that need it are left out without. */
export const enrolSecret = process.env.MUSTER_ENROL_SECRET;
/** Whether whoever started this also started the server, and can kill it. */
export const hasStage = Boolean(process.env.MUSTER_STAGE);
/** Whether the server shows a court (`muster serve --court`). */
export const hasCourt = Boolean(process.env.MUSTER_COURT);

function required(name) {
  const value = process.env[name];
  if (value) return value;
  console.error(`${name} is not set: MUSTER_URL is the server, MUSTER_TOKEN its admin token`);
  process.exit(2);
}
