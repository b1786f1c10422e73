import { jwt } from "@sluice/worker-proxy/auth";

export const authenticate = jwt({
  jwks: "https://abcdefgh.supabase.co/auth/v1/.well-known/jwks.json",
  issuer: "https://abcdefgh.supabase.co/auth/v1",
  audience: "authenticated",
  userId: ({ sub, is_anonymous }) => (is_anonymous === true ? null : sub),
});
// in the page: const { data } = await supabase.auth.getSession();
// the token is data.session?.access_token
// a project with a shared secret publishes no keys. Use:
// secret: (env) => env.SUPABASE_JWT_SECRET
