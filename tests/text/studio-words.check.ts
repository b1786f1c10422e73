import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "vite";
import { describe, expect, test } from "vitest";
import { estimateText } from "../../examples/registry/components/sluice/cost-text.ts";
import { settingsWords } from "../../examples/registry/components/sluice/form-words.ts";
import { linkText } from "../../examples/registry/components/sluice/media-frame.tsx";
import {
  downloadWords,
  imageWords,
  progressWords,
  SHARE,
  shareWords,
  videoWords,
} from "../../examples/registry/components/sluice/media-words.ts";
import { conversationWords, costWords } from "../../examples/registry/components/sluice/words.ts";
import * as roomWordLists from "../../examples/studio/src/room-words.ts";
import * as pageWordLists from "../../examples/studio/src/words.ts";

/*
 * Every sentence of the studio that claims something, with the condition under which it is true. A sentence that stands
 * elsewhere, or that no row lists, fails a test. The tests that are named show the page in that state.
 */

/** A sentence, and the state that makes it true. */
type Row = readonly [condition: string, actual: string | undefined, sentence: string | undefined];

const words = { ...pageWordLists, ...roomWordLists };
const { unsentWords, bannerWords, endingWords, toolWords, chatWords, unsavedWords, roomWords } =
  pageWordLists;
const { busyWords, videoNotice, assetWords } = roomWordLists;

/** Rows of what has two texts. */
const both = (
  condition: string,
  { title, hint }: Partial<pageWordLists.Words> = {},
  ...said: [string, string]
): readonly Row[] => [
  [`${condition}: what happened`, title, said[0]],
  [`${condition}: what to do`, hint, said[1]],
];

/** The words about so many files that were not added for the same reason. */
const refused = (count: number, reason: pageWordLists.Refused["reason"] = "type") =>
  words
    .refusedWords(Array.from({ length: count }, () => ({ reason, most: 10, text: "“a” is too large." })))
    .join(" ");

const cost = (amount: number, missing = 0) => ({
  amount,
  currency: "coins",
  missing: Array.from({ length: missing }),
});

const rows: Readonly<Record<string, readonly Row[]>> = {
  // media-frame.test.ts
  "a link": [
    ["its element loads", linkText("loading", "image"), undefined],
    ["its element shows it", linkText("shown", "video"), undefined],
    [
      "its element failed, and no server said that it is gone",
      linkText("unloadable", "video"),
      "Could not load",
    ],
    [
      "its server sent the film, and the browser failed twice",
      linkText("unplayable", "video"),
      "Can't play here",
    ],
    [
      "its server sent the image, and the browser failed twice",
      linkText("unplayable", "image"),
      "Can't show here",
    ],
    ["its server answered 403, 404 or 410", linkText("gone", "image"), "No longer available"],
    ["its time is over", linkText("expired", "video"), "No longer available"],
    ["the picture of an asset is gone; the asset may be well", linkText("gone", "preview"), "No preview"],
    ["it works, and its end is known", videoWords.link("24 h"), "Saved link · 24 h"],
    ["its download was saved", downloadWords.saved, undefined],
    ["its download opened in a tab", downloadWords.opened, undefined],
    ["its download failed, and may work later", downloadWords.failed, "Not downloaded. Try again."],
    ["its server refused the download", downloadWords.expired, "No longer available"],
    // share.test.ts
    ["it can be handed to an app, or saved", SHARE, "Share as a file"],
    ["it was handed to an app", shareWords.shared, undefined],
    ["its user chose no app", shareWords.cancelled, undefined],
    ["it was to be shared, and is saved", shareWords.saved, "Saved as a file. Send it with any app."],
    [
      "it was to be shared, and its server lets no page read it",
      shareWords.opened,
      "It is open in a new tab. Share it from there.",
    ],
    ["it was to be shared, and may be later", shareWords.failed, "Not shared. Try again."],
    ["it was to be shared, and its server refused", shareWords.expired, "No longer available"],
  ],
  // chat.test.ts, forms.test.ts
  "a cost": [
    ["all of it is known", words.costWords(cost(0.0214)), "Imaginary cost 0.0214 coins"],
    ["a part is not known", words.costWords(cost(0.0214, 1)), "Imaginary cost 0.0214 coins or more"],
    ["nothing is known", words.costWords(cost(0, 1)), undefined],
    [
      "of a message that is written, by the bytes that go out",
      costWords.send("Imaginary cost", "0.3 coins"),
      "Imaginary cost: at most 0.3 coins to send,",
    ],
    [
      "of a message that is written, where each tool sends another request",
      costWords.sendWithTools("Imaginary cost", "0.3 coins"),
      "Imaginary cost: 0.3 coins to send, more with tools,",
    ],
    [
      "of an answer that nothing bounds, or with tools",
      costWords.someAnswer("0.9 coins", "1,000"),
      "0.9 coins for 1,000 tokens of the answer",
    ],
    [
      "of an answer with a largest number of tokens",
      costWords.wholeAnswer("0.9 coins"),
      "at most 0.9 coins for the answer",
    ],
    ["of a request, the form decides it", estimateText({ ...cost(30), least: 30 }), "30 coins"],
    [
      "of a request, the model decides it within bounds",
      estimateText({ ...cost(120), least: 30 }),
      "30 to 120 coins",
    ],
    [
      "of a request, the form does not bound it",
      estimateText({ ...cost(0, 1), least: 0 }),
      "known afterwards",
    ],
  ],
  // offline.test.ts, chaos.test.ts
  "the network": [
    ...both(
      "there is none, and a question goes out by itself",
      unsentWords({ isOffline: true, isWaiting: true }),
      "You are offline",
      "This is sent when you are back.",
    ),
    ...both(
      "there is none, and nothing goes out by itself",
      unsentWords({ isOffline: true, isWaiting: false }),
      "You are offline",
      "Nothing was sent. Try again when you are back.",
    ),
    ...both(
      "it is back, and something was not sent without it",
      unsentWords({ isOffline: false, isWaiting: false }),
      "Not sent",
      "You were offline. Try again.",
    ),
    [
      "there is none, and an answer that has begun is in flight",
      bannerWords({ isOffline: true, isStreaming: true, isDemo: true, isHosted: false }),
      "No connection · It resumes by itself",
    ],
    [
      "there is none, and no answer is in flight",
      bannerWords({ isOffline: true, isStreaming: false, isDemo: true, isHosted: false }),
      "No connection",
    ],
    ["a request failed before it left", words.NOTHING_SENT, "Nothing was sent."],
    ["there is none, and a video is at the gateway", videoWords.offline(true), "Offline. It goes on later."],
    ["there is none, and the create of a video is in flight", videoWords.offline(false), "Offline"],
  ],
  "the gateway": [
    [
      "it is the emulator, by the build",
      bannerWords({ isOffline: false, isStreaming: true, isDemo: true, isHosted: false }),
      "Offline emulator · Free · Answers are scripted",
    ],
    [
      "it is another one",
      bannerWords({ isOffline: false, isStreaming: true, isDemo: false, isHosted: false }),
      undefined,
    ],
    [
      "it is the emulator, in this browser",
      bannerWords({ isOffline: false, isStreaming: true, isDemo: true, isHosted: true }),
      "Runs in your browser · Free · Scripted answers",
    ],
    ...both(
      "it would be in this browser, which has no Service Workers",
      words.hostedWords("unsupported"),
      "This browser can't run the studio here",
      "It needs Service Workers. Some private windows have none; neither do pages without HTTPS.",
    ),
    ...both(
      "it would be in this browser, and was not loaded before the network went away",
      words.hostedWords("unloaded"),
      "The studio is not loaded yet",
      "You are offline. Try again with a connection.",
    ),
    ...both(
      "it would be in this browser, and did not start",
      words.hostedWords("failed"),
      "The studio could not start",
      "The browser may refuse storage, as in a private window. Allow it, or open a normal window.",
    ),
    [
      "it is the emulator, in a new chat",
      words.welcomeWords(true),
      "It streams, retries and resumes. This page runs offline and is free.",
    ],
    ["it is another one, in a new chat", words.welcomeWords(false), "It streams, retries and resumes."],
    [
      "the packages are published nowhere",
      words.UNRELEASED,
      "The packages are not on a registry yet: install them from a clone.",
    ],
    [
      "it is the emulator, and a result has a prompt that no scene fits",
      words.drawingWords({ isDemo: true, hasUnfitPrompt: true, scenes: ["seas", "reefs", "light"] }),
      "The emulator draws seas, reefs, and light. Any other prompt becomes a caption.",
    ],
    [
      "all prompts have a scene",
      words.drawingWords({ isDemo: true, hasUnfitPrompt: false, scenes: [] }),
      undefined,
    ],
    [
      "it may draw anything",
      words.drawingWords({ isDemo: false, hasUnfitPrompt: true, scenes: [] }),
      undefined,
    ],
  ],
  // documents.test.ts
  "a file for a message": [
    ["it has more than 1 MB", words.documentWords("size", "a.txt"), "“a.txt” is too large. Limit: 1 MB."],
    ["its bytes are no text", words.documentWords("type", "a.zip"), "“a.zip” is not a text."],
    [
      "it is a PDF of more than 50 MB",
      words.documentWords("pdf-size", "a.pdf"),
      "“a.pdf” is too large. Limit: 50 MB.",
    ],
    [
      "it is a PDF that needs a password",
      words.documentWords("locked", "a.pdf"),
      "“a.pdf” is locked with a password. Add a copy without it.",
    ],
    [
      "it is a PDF, and no page has text",
      words.documentWords("scanned", "a.pdf"),
      "“a.pdf” has no text: its pages are pictures. Add pictures of the pages.",
    ],
    [
      "it has the name of a PDF, and can't be read as one",
      words.documentWords("broken", "a.pdf"),
      "“a.pdf” is broken. Open it in a PDF app, and save it again.",
    ],
    [
      "it is a PDF with more than 1 MB of text",
      words.documentWords("long", "a.pdf"),
      "“a.pdf” has more text than a model reads at once. Add fewer pages: the limit is 1 MB.",
    ],
    [
      "it is a PDF, and its reader, or an encoding that it names, was not loaded",
      words.documentWords("unloaded", "a.pdf"),
      "“a.pdf” can't be read now: a part of the page could not load. Check your connection.",
    ],
    ["it is being read", words.readingWords("a.pdf"), "Reading a.pdf…"],
    ["its second page is being read", words.readingWords("a.pdf", [2, 9]), "Reading a.pdf… Page 2 of 9"],
    ["its text goes with the message", words.sentWords(1234), "1,234 characters"],
    [
      "the text of its only page goes with the message",
      words.sentWords(1234, words.pagesWords(1, 1)),
      "text of 1 page (1,234 characters). Pictures are not sent.",
    ],
    [
      "the text of its pages goes with the message",
      words.sentWords(1234, words.pagesWords(9, 9)),
      "text of 9 pages (1,234 characters). Pictures are not sent.",
    ],
    [
      "the text of some of its pages goes with the message, the others have none",
      words.sentWords(1234, words.pagesWords(7, 9)),
      "text of 7 of 9 pages (1,234 characters). Pictures are not sent.",
    ],
  ],
  // palette.test.ts
  "a chat or a preset": [
    ["its file was saved", words.transferWords.exported, "Chat exported"],
    [
      "it was to be shared, and its file is saved",
      words.transferWords.saved,
      "Saved as a file. “Import a chat” reads it.",
    ],
    ["its file was read and kept", words.transferWords.imported, "Chat imported"],
    [
      "the chosen file has no messages that can be read",
      words.transferWords.unreadable,
      "No chat in this file. Choose one that was shared, or exported as JSON.",
    ],
    ["it was put in a folder", words.movedWords("Work"), "Moved to “Work”"],
    ["it is in no folder any more", words.movedWords(""), "Taken out of its folder"],
    ["its settings are kept", words.transferWords.presetSaved, "Preset saved"],
    ["its settings are forgotten", words.transferWords.presetRemoved, "Preset deleted"],
  ],
  // chat.test.ts
  "an answer": [
    ["it is whole", endingWords.complete, undefined],
    ["its finish reason is `length`", endingWords.length, "The answer reached its length limit."],
    ["the user stopped it", endingWords.stopped, "Stopped"],
    ["its page was left before its end", endingWords.interrupted, "Interrupted: the page was closed."],
    ["it ended without a finish reason", endingWords.unconfirmed, "The answer may be incomplete."],
    ["its turn had as many steps as allowed", endingWords["step-limit"], "The limit of steps was reached."],
    ["its finish reason says so", endingWords["content-filter"], "The rest was removed by a filter."],
    [
      "its finish reason says so, too",
      endingWords["insufficient-resource"],
      "The model ran out of capacity.",
    ],
    ["there is none, and no error", words.UNANSWERED, "No answer yet"],
    [
      "it began before this page was loaded, and is in flight here",
      words.sourceWords({ isResumed: true, isElsewhere: false }),
      "Resumed",
    ],
    [
      "it is in flight, and not here",
      words.sourceWords({ isResumed: false, isElsewhere: true }),
      "Answering in another tab",
    ],
    ["this tab asked for it", words.sourceWords({ isResumed: false, isElsewhere: false }), undefined],
    ["it is in flight, without new text", words.silenceWords(8400), "No new text for 8 s. Wait, or stop it."],
    ["it is asked for again by itself", words.retryWords("Gone", 3), "Gone. Retrying in 3 s"],
    ["it is asked for again at once", words.retryWords("Gone", 0), "Gone. Retrying in 1 s"],
  ],
  "a chat": [
    ["its request has no answer yet", chatWords("submitted", false), "Waiting for the answer…"],
    ["its answer comes", chatWords("streaming", false), "Answering…"],
    ["a tool call waits for its user", chatWords("requires-action", false), "The model waits for you."],
    ["its last answer is whole", chatWords("ready", true), "The answer is complete."],
    ["its last answer is not whole", chatWords("ready", false), ""],
    ["its error says more", chatWords("error", false), ""],
    [
      "it is in the list, and waits for its user",
      conversationWords.states["requires-action"],
      "Waits for you",
    ],
    ["it is in the list, and its last request failed", conversationWords.states.error, "Failed"],
    [
      "its id is in the address, and the storage has nothing of it",
      words.missingChatWords("well"),
      "This chat is not in this browser.",
    ],
    [
      "its id is in the address, and the storage fails",
      words.missingChatWords("failing"),
      "This chat could not be read.",
    ],
    // unsaved.test.ts
    ["all of its messages are written", unsavedWords({ unsaved: 0, keeping: "well" })?.title, undefined],
    [
      "all of its messages are written, and something else is not",
      unsavedWords({ unsaved: 0, keeping: "failing" })?.title,
      undefined,
    ],
    ...both(
      "one of its messages could not be written, and is tried again",
      unsavedWords({ unsaved: 1, keeping: "failing" }),
      "1 message is not saved.",
      "Keep this page open: it tries again by itself.",
    ),
    ...both(
      "two of its messages could not be written, and others could",
      unsavedWords({ unsaved: 2, keeping: "well" }),
      "2 messages are not saved.",
      "Keep this page open: it tries again by itself.",
    ),
    ...both(
      "the browser has refused its database",
      unsavedWords({ unsaved: 2, keeping: "refused" }),
      "This browser does not keep your chats.",
      "Copy what you need before you leave.",
    ),
    ...both(
      "something of a media room could not be written, and is tried again",
      words.UNSAVED,
      "Not all of this is saved.",
      "Keep this page open: it tries again by itself.",
    ),
    ["its messages that were not written are now", words.ALL_SAVED, "All messages are saved."],
    [
      "its tools are offered to a model that lists none",
      settingsWords.toolsUnlisted,
      "This model may ignore tools.",
    ],
  ],
  "a tool call": [
    ["its arguments come", toolWords.streaming, "Writing…"],
    ["it needs a yes", toolWords["needs-approval"], "Needs your approval"],
    ["it needs a result", toolWords["needs-result"], "Needs your answer"],
    ["it runs", toolWords.running, "Running…"],
    ["it has a result", toolWords.done, "Done"],
    ["it threw", toolWords.failed, "Failed"],
    ["its user said no", toolWords.denied, "Denied"],
    ["it will not run", toolWords.cancelled, "Cancelled"],
  ],
  // devices.test.ts
  "a device": [
    ["it added the message", words.authorWords({ role: "user" }), "This device"],
    [
      "another one added the message",
      words.authorWords({ role: "user", origin: "another-device" }),
      "Other device",
    ],
    [
      "the server added the message",
      words.authorWords({ role: "assistant", origin: "server", author: { id: "b", name: "bob" } }),
      "Server",
    ],
    [
      "another member wrote the question",
      words.authorWords({ role: "user", origin: "another-device", author: { id: "b", name: "bob" } }),
      "bob",
    ],
    [
      "one wrote it who has no name any more",
      words.authorWords({ role: "user", author: { id: "left" } }),
      "A former member",
    ],
    ["its user came by a link to read", words.READ_ONLY, "You can read this chat, not write in it."],
    ["it can plan a picture", words.MORNING_PICTURE, "Morning picture"],
    ["it can plan one of each day", words.scheduleWords.daily, "Each morning at 08:00"],
    ["it can plan one of now", words.scheduleWords.soon, "In 5 seconds"],
    [
      "none is planned",
      words.scheduleWords.none,
      "No schedules. The server makes the picture, also with all devices closed.",
    ],
    [
      "one of each day is planned",
      words.startWords({ time: "08:00", timeZone: "Europe/Berlin" }),
      "Each day at 08:00",
    ],
    [
      "one is planned once",
      words.startWords({ at: new Date(2026, 0, 1, 14, 3, 5).getTime() }).replace(/\s/g, " "),
      "Once at 2:03:05 PM",
    ],
    ["a link can be made to read", words.shareWords.read, "Link to read"],
    ["a link can be made to write", words.shareWords.write, "Link to write"],
    [
      "a link can be made, and the server is another machine's",
      words.linkWords(false),
      "Open it in another browser or a private window.",
    ],
    [
      "a link can be made, and the server is in this browser",
      words.linkWords(true),
      "Open it in this browser.",
    ],
    ["a link to read was made", words.openWords("read"), "Join to read"],
    ["a link to write was made", words.openWords("write"), "Join to write"],
    ["a panel is open beside a chat without a question", words.ASK_FIRST, "Ask something first."],
    ["a link was followed", words.shareWords.intro, "Someone shares a chat with you."],
    ["the link was followed, and joins with a name", words.shareWords.join, "Join the chat"],
    ["all is well", words.deviceWords({ isOffline: false, isWorking: false, isSyncing: false }), ""],
    [
      "a turn runs",
      words.deviceWords({ isOffline: false, isWorking: true, isSyncing: true }),
      "The server is working…",
    ],
    [
      "records are on their way",
      words.deviceWords({ isOffline: false, isWorking: false, isSyncing: true }),
      "Syncing…",
    ],
    [
      "its network is cut",
      words.deviceWords({ isOffline: true, isWorking: false, isSyncing: false }),
      "Offline",
    ],
    [
      "its network is cut, and the server lacks records",
      words.deviceWords({ isOffline: true, isWorking: false, isSyncing: true }),
      "Offline. Not all is sent.",
    ],
    ["its page is closed", words.DEVICE_CLOSED, "Closed. The server goes on."],
    ["its network can be cut", words.networkWords(false), "Go offline"],
    ["its network can be mended", words.networkWords(true), "Go online"],
    [
      "none is signed in",
      words.DEVICES_INTRO,
      "One conversation on a laptop and a phone. It goes on when both are closed.",
    ],
    [
      "its room is shown beside the inspector",
      words.NO_CODE,
      "The code of this room is in examples/devices.",
    ],
    [
      "a name is asked for",
      words.NO_PASSWORD,
      "There is no password: each name is believed. Your app has its own sign-in.",
    ],
  ],
  // videos.test.ts
  "a video": [
    ["it is not over", videoWords.states.running, "Making your video"],
    ["it is there", videoWords.states.done, "Done"],
    ["the gateway says so", videoWords.states.failed, "Failed"],
    ["its create has no answer, or it is not checked any more", videoWords.states.unknown, "Unknown"],
    ["the gateway reported a failure", videoWords.failed, "The video failed"],
    ["it is there, and another room is shown", videoNotice("done", "Reef"), "Video ready: Reef"],
    ["it failed, and another room is shown", videoNotice("failed", "Reef"), "Video failed: Reef"],
    ["nobody knows, and another room is shown", videoNotice("unknown", "Reef"), "Check your video: Reef"],
    ...both(
      "its create has no answer",
      { title: videoWords.lost, hint: videoWords.lostHint },
      "No answer came back",
      "You may have been charged. A retry may cost twice.",
    ),
    [
      "it is deleted before it is over",
      videoWords.removeRunning,
      "It is still being made. You may still pay for it.",
    ],
    ["it was not reported to run", progressWords({ phase: "starting", elapsed: "3 s" }), "Starting · 3 s"],
    ["it runs", progressWords({ phase: "making", elapsed: "3 s" }), "Making your video · 3 s"],
    [
      "it takes longer than usual",
      progressWords({ phase: "late", elapsed: "9 min" }),
      "Still working · 9 min",
    ],
    ["its end can be estimated", progressWords({ phase: "left", left: "3 s" }), "About 3 s left"],
    ["its estimated end is now", progressWords({ phase: "almost" }), "Almost done"],
    ["it is made, and has no link yet", progressWords({ phase: "finishing" }), "Finishing…"],
    ...both(
      "its file has no place at the proxy",
      words.NO_FILE_STORE,
      "This server stores no files",
      "Use a link instead of the file.",
    ),
    [
      "its files went with the page",
      words.lostFilesWords(["a.mp4", "b.mp4"]),
      "Choose “a.mp4”, “b.mp4” again. The page was reloaded.",
    ],
  ],
  // assets.test.ts, images.test.ts
  "an asset or an image": [
    ["its request is in flight", assetWords("sending"), "Sending"],
    ["its request failed", assetWords("unsent"), "Not added"],
    ["the gateway prepares it", assetWords("preparing"), "Preparing"],
    ["it can be used", assetWords("ready"), "Ready"],
    ["the gateway refused it", assetWords("failed"), "Failed"],
    ["it could not be checked", assetWords("unknown"), "Unknown"],
    [
      "the gateway refused its picture",
      words.ASSET_REFUSED,
      "This picture can't be used. Choose another one.",
    ],
    [
      "its picture is of another host, and the page is hosted",
      words.NO_PREVIEW,
      "No preview. This page loads nothing from other sites.",
    ],
    ["it is none of those of its set that were made", imageWords.failed, "This image failed"],
    ["images of the last request are there", words.IMAGES_DONE, "Done"],
    ...both("a file was refused for its size", words.TOO_LARGE, "Too large", "Use a smaller file, or fewer."),
    ["images are in flight", busyWords.images, "Generating"],
    ["an asset is in flight", busyWords.asset, "Registering"],
  ],
  "files that were chosen": [
    ["all were added", refused(0), ""],
    ["one is one too many", refused(1, "number"), "1 file was not added (10 at most)."],
    ["40 are too many", refused(40, "number"), "40 files were not added (10 at most)."],
    ["one is refused", refused(1, "size"), "“a” is too large."],
    ["some have the wrong type", refused(3, "type"), "3 files were not added: they can't be used here."],
    ["some are too large", refused(3, "size"), "3 files were not added: they are too large."],
    ["some are broken", refused(3, "unreadable"), "3 files were not added: they can't be read."],
    [
      "some break a rule of the model",
      refused(3, "rule"),
      "3 files were not added: they are not what this model takes.",
    ],
  ],
  "a call in the inspector": [
    [
      "its request has a key",
      words.keyWords({ hasKey: true, path: "/v1/chat/completions" }),
      "Key sent by this page",
    ],
    [
      "the Worker sends it on",
      words.keyWords({ hasKey: false, path: "/v1/chat/completions" }),
      "Key added by the Worker",
    ],
    ...["/v1/chat/streams/1", "/v1/uploads/1", "/v1/archive", "/v1/video/generations/1/events"].map(
      (path): Row => [
        `the Worker answers ${path} from its objects`,
        words.keyWords({ hasKey: false, path }),
        "Answered by the Worker alone",
      ],
    ),
    [
      "the code of a room has the address of its server",
      words.codeWords(false),
      "It follows the settings of this room.",
    ],
    [
      "the code of a room has no server but that of this page",
      words.codeWords(true),
      "It follows the settings of this room. Its address stands for your Worker.",
    ],
    ["it reads on", words.callWords({ path: "/v1/chat/streams/1" }), "Resumed answer"],
    [
      "it checks a video, and orders none",
      words.callWords({ path: "/v1/video/generations/1", model: "beta3.0-video" }),
      "Video status",
    ],
    [
      "it orders a video",
      words.callWords({ path: "/v1/video/generations", model: "beta3.0-video" }),
      "beta3.0-video",
    ],
    ["it has no model", words.callWords({ path: "/v1/archive" }), "/v1/archive"],
  ],
  // shell.test.ts
  "a room": [
    ["it threw", roomWords.failed, "This room has failed."],
    ["its script did not come", roomWords.unloadable, "This room could not load. Check your connection."],
    ["the script of a part did not come", roomWords.partUnloadable, "Could not load."],
  ],
};

describe.each(Object.entries(rows))("The words about %s are true:", (_, ofTopic) => {
  test.each(ofTopic)("%s", (_, actual, sentence) => {
    expect(actual).toBe(sentence);
  });
});

const src = join(import.meta.dirname, "../../examples/studio/src");

/** The texts of a file: of elements, strings and templates, in pieces between their values. */
function textsOf(file: string): string[] {
  const texts: string[] = [];
  visit(parseSync(file, readFileSync(join(src, file), "utf8")).program);
  return texts;

  function visit(node: unknown): void {
    if (typeof node !== "object" || node === null) return;
    if (Array.isArray(node)) return node.forEach(visit);
    const { type = "", value, quasis, ...parts } = node as Record<string, unknown> & { type?: string };
    if (/^(?:Import|ExportAll|TSLiteralType|TSTypeAnnotation)/.test(type)) return;
    if ((type === "JSXText" || type === "Literal") && typeof value === "string")
      texts.push(value.replace(/\s+/g, " ").trim());
    if (type === "TemplateLiteral")
      for (const piece of quasis as readonly { value: { cooked: string } }[])
        texts.push(piece.value.cooked.trim());
    visit(value);
    visit(Object.values(parts));
  }
}

test.each(["words.ts", "room-words.ts"])("Each text of %s is a row above: it has a condition", (file) => {
  const said = Object.values(rows)
    .flat()
    .map(([, , sentence]) => sentence ?? "");
  const isText = (text: string) => /^[A-Z“][^/]* |^[A-Z][a-z]+…?$/.test(text);
  const missing = textsOf(file).filter((text) => isText(text) && !said.some((one) => one.includes(text)));
  expect(missing).toEqual([]);
});

/** Words that claim something about a state. */
const CLAIM =
  /\b(?:is|are|was|were|has|have|had|will|may|can't|cannot|does not|did not|failed|lost|no longer|charged|sent|saved|resumes?|resumed|ready|waits|offline|free|available|could not|not added|too)\b/i;
const STATES =
  /^(?:Done|Failed|Ready|Unknown|Stopped|Resumed|Expired|Offline|Sending|Preparing|Cancelled|Denied)…?$/;

/** Texts that hold whenever they are shown: rules of a form, what a button does, and what no one sees. */
const plain = [
  /^(?:Uploading|Sending|Adding|Generating|Answering|Loading)…?$/,
  // rules of the forms, which their tests break one by one
  /^“?(?:” )?(?:is not a picture\.|is not|can't be (?:used here|read)\.)$/,
  /^(?:This (?:file|picture|model) |It must take|Add a )/,
  // buttons, and what they play
  /^(?:Offline|The stream ends too early, once|No network for 4 seconds, then resumed|Tell me when it is ready)$/,
  /^(?:Sluice is a TypeScript client|Watch it retry, fail and resume\.)/,
  // an example in an empty field, what a model is told, and messages of errors
  /^(?:You are brief\.|What the color is for|Failed to fetch|Mermaid can't read|The frame of diagrams)/,
];

test("No file but the lists of words has a text that claims something", () => {
  const found = globSync(["**/*.{ts,tsx}", "../demo/hosted/*.tsx"], { cwd: src })
    .filter((file) => !/^(?:words\.ts|room-words\.ts|inspector\/snippets)/.test(file))
    .flatMap((file) =>
      textsOf(file)
        .filter((text) => (/[A-Z“].* /.test(text) && CLAIM.test(text)) || STATES.test(text))
        .filter((text) => !plain.some((one) => one.test(text)))
        .map((text) => `${file}: ${text}`),
    );
  expect(found).toEqual([]);
});

test("The README and each saved project say of the packages what the first screen says", () => {
  const readme = readFileSync(join(src, "../../../README.md"), "utf8").replace(/\]\([^)]*\)|\[/g, "");
  expect(readme).toContain(words.UNRELEASED.slice(0, -1));
  const [fact = ""] = words.UNRELEASED.split(":");
  expect(readFileSync(join(src, "inspector/snippets/project.ts"), "utf8")).toContain(fact);
});

test("No component of the registry has a text of its own: all are in its lists of words", () => {
  const registry = "../../registry/components/sluice";
  const found = globSync(`${registry}/*.tsx`, { cwd: src }).flatMap((file) =>
    textsOf(file)
      .filter((text) => /^[A-Z“][a-z]/.test(text) && !/^(?:Enter|Escape)$/.test(text))
      .map((text) => `${file}: ${text}`),
  );
  expect(found).toEqual([]);
});

test("The first screen, which is there before any script, says what the welcome says", () => {
  const html = readFileSync(join(src, "../index.html"), "utf8");
  expect(html).toContain(`>${words.welcomeWords(true)}<`);
});
