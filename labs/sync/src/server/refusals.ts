import { type RefusalTable, refusalsOf } from "@sluice/durable/internal";

/** The refusals of conversations: status, message, and the code where that is not the name. */
const refusals = {
  id_invalid: [400, "id: send 1 to 128 visible characters, without ~ at the start", "invalid_request"],
  field_invalid: [400, "{what}", "invalid_request"],
  records_too_large: [413, "send at most {what} bytes at once", "body_too_large"],
  conversation_gone: [410, "this conversation was removed"],
  space_exceeded: [413, "the space of this user is used up; remove conversations"],
  lease_lost: [409, "this device does not hold the lease {what}; read the newest records first"],
  too_many_leases: [429, "this conversation has {what} leases; give one back, or try again in a minute"],
} as const satisfies RefusalTable;

/** Makes a refusal of a conversation. */
export const conversationRefusal = refusalsOf(refusals);

/** The refusals of one record; the others of the same request are taken. */
export const recordRefusals = {
  key_too_long: "a key has 1 to 512 characters",
  record_too_large: "a record has at most 1048576 bytes",
  conversation_full: "this conversation has as many records as it may",
  space_exceeded: "the space of this user is used up; remove conversations",
  key_reserved: "only the server writes this record",
} as const;

/** The code of a refused record. */
export type RecordRefusal = keyof typeof recordRefusals;
