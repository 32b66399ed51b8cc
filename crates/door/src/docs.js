// Fonts, telemetry and the request proxy would call other servers; this page must work without any.
Scalar.createApiReference("#app", {
  url: "/openapi.json",
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: "",
  agent: { disabled: true },
  hideClientButton: true,
});
