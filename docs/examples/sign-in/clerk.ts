import { jwt } from "@sluice/worker-proxy/auth";

export const authenticate = jwt({
  // clerk.example.com is your Frontend API
  jwks: "https://clerk.example.com/.well-known/jwks.json",
  issuer: "https://clerk.example.com",
  audience: false, // a session token of Clerk has no `aud`
  authorizedParties: ["https://app.example.com"], // the page
});
// in the page: const { getToken, userId } = useAuth();
