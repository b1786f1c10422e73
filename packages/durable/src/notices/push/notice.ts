import type { Ended } from "../after-end.js";
import { cutAt } from "../ended-turn.js";

/** Most bytes of a notice: with its encryption it has the 4,096 that each push service takes. */
const MOST_BYTES = 3_900;
/** Most characters of a title. */
const TITLE_CHARACTERS = 200;

/** Makes the notice of an end, as the JSON that the service worker of a page gets. */
export function noticeOf(ended: Ended): string {
  const { model } = ended;
  if (!("turnId" in ended))
    return JSON.stringify({ type: `video.${ended.state}`, id: ended.taskId, ...(model && { model }) });
  const { turnId: id, conversation, outcome, title, text } = ended;
  const facts = { type: `turn.${outcome}`, id, conversation };
  const name = title && cutAt(title, TITLE_CHARACTERS);
  // a text of the model may be of letters that take many bytes
  for (let most = text?.length ?? 0; ; most = Math.floor(most / 2)) {
    const notice = JSON.stringify({
      ...facts,
      title: name,
      ...(most > 0 && text && { text: cutAt(text, most) }),
    });
    if (most === 0 || new TextEncoder().encode(notice).length <= MOST_BYTES) return notice;
  }
}
