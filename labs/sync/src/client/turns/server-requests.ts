import { isGatewayError } from "@sluice/core";
import {
  createRandomId,
  getDelivery,
  isRecord,
  parseJSON,
  readRefusal,
  requestOnce,
  toConnectionError,
} from "@sluice/core/extend";
import { type Chat, getClientStorage } from "@sluice/stores/extend";

// loaded with the first turn of a chat that runs on the server

/**
 * Pauses before something is sent again: a turn whose parent the server lacks, as its record is on its way, and what no
 * answer came to. The server knows both by their ids.
 */
const PAUSES_MS = [100, 300, 1_000, 3_000, 5_000];

/** Writes a record that nobody has written before. Returns false where somebody has. */
export async function claim(chat: Chat, key: string, value: object): Promise<boolean> {
  const changes = { [key]: { value: { ...value, nonce: createRandomId() }, seen: 0 } };
  const text = await requestAgain(chat, "records", { changes }, isUnknown);
  const { taken = {} } = JSON.parse(text) as { taken?: Record<string, number> };
  return Object.hasOwn(taken, key);
}

/** Hands a turn over. Returns true for one that another device has handed over, and that has ended. @throws {GatewayError} */
export async function sendTurn(chat: Chat, turn: object): Promise<boolean> {
  const isEarly = (cause: unknown) => Object(cause).code === "message_unknown";
  const body = { ...turn, by: await thisDevice(chat) };
  const text = await requestAgain(chat, "turns", body, (cause) => isEarly(cause) || isUnknown(cause));
  const answer = parseJSON(text);
  return isRecord(answer) && answer["isOver"] === true;
}

/** Stops the turn of a conversation, whoever has begun it. @throws {GatewayError} */
export async function stopTurn(chat: Chat): Promise<void> {
  await request(chat, "DELETE", "turns");
}

/** Sends something that the server knows again: some times more, where that may help. @throws {GatewayError} */
async function requestAgain(
  chat: Chat,
  part: string,
  body: object,
  mayHelp: (cause: unknown) => boolean,
): Promise<string> {
  let doubt: unknown;
  for (let tried = 0; ; tried += 1)
    try {
      return await request(chat, "POST", part, body);
    } catch (cause) {
      if (isUnknown(cause)) doubt = cause;
      const pause = PAUSES_MS[tried];
      const isCutOff = doubt !== undefined && getDelivery(cause) === "not-sent";
      if (pause === undefined || !(isCutOff || mayHelp(cause))) throw isCutOff ? doubt : cause;
      await chat.client.clock.sleep(pause);
    }
}

/** True for the error of a request that may have arrived. */
export function isUnknown(cause: unknown): boolean {
  return isGatewayError(cause) && getDelivery(cause) === "unknown";
}

/** Sends one request about the conversation. @throws {GatewayError} */
async function request(
  { client, id = "" }: Chat,
  method: string,
  part: string,
  body?: object,
): Promise<string> {
  const path = `/v1/conversations/${encodeURIComponent(id)}/${part}`;
  const sent = body && {
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ device: PAGE, ...body }),
  };
  try {
    return await requestOnce(client, path, { method, ...sent }, async (response) => {
      if (!response.ok) throw await readRefusal(response, client, new AbortController().signal);
      return await response.text();
    });
  } catch (cause) {
    throw isGatewayError(cause) ? cause : toConnectionError(cause);
  }
}

/** Returns the id of this device, by which the others see that the question is not theirs; undefined if none is kept. */
function thisDevice({ client, own }: Chat): Promise<string | undefined> {
  const { storage } = own();
  const devices = storage && getClientStorage(client, storage).devices;
  return Promise.resolve(devices?.id()).catch(() => undefined);
}

/** Name of this page among the devices; it is no identity. */
const PAGE = createRandomId();
