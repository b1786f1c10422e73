import { createClient } from "@sluice/core";

/** The proxy that serves this page adds the key: there is none in here, and must not be. */
export const client = createClient({ baseURL: import.meta.env.VITE_GATEWAY || location.origin });
