import { createClient } from "@sluice/core";
import { devtoolsFetch, SluiceDevtools } from "@sluice/devtools";

/* The smallest page with the panel. */

Object.assign(globalThis, {
  parts: [createClient({ baseURL: "/api", fetch: devtoolsFetch() }), SluiceDevtools],
});
