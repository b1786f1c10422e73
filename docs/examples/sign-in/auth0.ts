import { jwt } from "@sluice/worker-proxy/auth";

export const authenticate = jwt({
  jwks: "https://acme.eu.auth0.com/.well-known/jwks.json",
  issuer: "https://acme.eu.auth0.com/", // with the slash
  audience: "https://gateway-proxy", // the identifier of your API (RS256)
  // refuses a machine's token
  userId: ({ sub, gty }) => (gty === "client-credentials" ? null : sub),
});
// in the page: getAccessTokenSilently({
//   authorizationParams: { audience: "https://gateway-proxy" },
// })
