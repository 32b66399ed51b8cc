// Rows as text that spreadsheets read (RFC 4180). Pure.

/** The text of a table; the first row is the head. */
export const csv = (rows) => rows.map((row) => row.map(cell).join(',')).join('\r\n').concat('\r\n');

function cell(value) {
  const text = String(value ?? '');
  // A spreadsheet would calculate what begins like a formula, and what stands here may come from anybody.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
