import { openDevice } from "./device.ts";

// node chat.ts <user> <device> [text]: sends the text, or prints the conversation until Ctrl+C
const [, , user = "ada", name = "phone", text] = process.argv;
const device = openDevice(user, { name });
const chat = device.openChat("trip");
const printed = new Set<string>();
chat.subscribe(() => {
  for (const { id, role, content, outcome } of chat.getSnapshot().messages) {
    if (printed.has(id) || (role === "assistant" && outcome === undefined)) continue;
    printed.add(id);
    console.log(`${role}: ${content}`);
  }
});
if (text !== undefined) {
  await chat.send(text);
  await device.leave();
}
