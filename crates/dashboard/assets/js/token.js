// What a token tells of itself. Pure: no network, no clock.

const REFRESH_AT = 0.6;

/** Whether it came from a login, and so ends; API keys and the admin token do not. */
export const isLogin = (token) => token?.split('.').length === 3;

/** How long a login's token needs no exchange yet, in milliseconds; 0 where it is time, or where it does not say. */
export function restMs(token, now) {
  const { iat, exp } = claims(token);
  const at = (iat + (exp - iat) * REFRESH_AT) * 1000;
  return Number.isFinite(at) ? Math.max(0, at - now) : 0;
}

function claims(token) {
  try {
    return JSON.parse(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/'))) ?? {};
  } catch {
    return {};
  }
}
