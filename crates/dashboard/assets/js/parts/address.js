// Filters kept in the address, so that a view can be sent to a colleague.

/** Writes values behind the `?` of the address without opening the page anew; empty ones are left out. */
export function keepInAddress(values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, value);
  const path = location.hash.split('?')[0];
  const text = query.toString();
  history.replaceState(history.state, '', text ? `${path}?${text}` : path);
}
