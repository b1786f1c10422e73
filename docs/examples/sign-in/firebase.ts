import { jwt } from "@sluice/worker-proxy/auth";

/** True for a user of `signInAnonymously`. */
const isAnonymous = (claim: unknown) =>
  (claim as { sign_in_provider?: string } | undefined)?.sign_in_provider === "anonymous";

export const authenticate = jwt({
  jwks: "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com",
  issuer: "https://securetoken.google.com/acme-1", // your project
  audience: "acme-1",
  userId: ({ sub, firebase }) => (isAnonymous(firebase) ? null : sub),
});
// in the page: () => currentUser.getIdToken()
