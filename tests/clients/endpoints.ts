/**
 * Addresses for other people's clients: the gateway itself, the proxy that adds its key, and a proxy with the options that
 * the guide has for these clients.
 */
export const endpoints = ["emulator", "proxy", "adapting proxy"] as const;
export type Endpoint = (typeof endpoints)[number];
