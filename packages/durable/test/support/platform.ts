import { env } from "cloudflare:workers";
import { test } from "vitest";

/**
 * True in workerd: there rows that are read and written are counted, an object can be lost while its process goes on, and
 * there may be rows of versions that knew no other host.
 */
export const isWorkerd = !("IS_NODE" in env);

const unlisted = Object.assign(() => {}, { each: () => () => {} });
/** A test of what only objects of workerd do; on another host it is not listed. */
export const workerdTest = (isWorkerd ? test : unlisted) as typeof test;
