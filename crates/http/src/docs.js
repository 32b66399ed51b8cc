// Fonts, telemetry, the request proxy and the tools of its maker would call other servers; this page must work without any.
Scalar.createApiReference("#app", {
  url: "/openapi.json",
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: "",
  agent: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
});
