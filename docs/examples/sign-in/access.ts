import { cloudflareAccess } from "@sluice/worker-proxy/auth";

export const authenticate = cloudflareAccess({
  teamDomain: "acme.cloudflareaccess.com",
  // the application's tag
  audience: "4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2",
});
// in the page: createClient({ baseURL: "/api" }). Access adds the token
