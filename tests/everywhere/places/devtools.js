import { createClient } from "@sluice/core";
import { devtoolsFetch, SluiceDevtools, sluiceDevtoolsPlugin } from "@sluice/react/devtools";

/* A page with all that the developer tools have. */

const client = createClient({ baseURL: location.origin, fetch: devtoolsFetch() });
globalThis.page = [SluiceDevtools, sluiceDevtoolsPlugin({ client })];
