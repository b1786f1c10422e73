/** Message of the error of a request that did not leave: the client takes it for one that was not sent. */
export const NOT_SENT = "Failed to fetch: ENETUNREACH";
