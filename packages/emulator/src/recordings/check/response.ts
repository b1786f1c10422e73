import * as v from "valibot";
import type { RecordedResponse, Recording } from "../recording.js";
import type { Found } from "./finding.js";
import { errorSchema, findSchema, statuses } from "./response-schemas.js";
import { listFields } from "./shape.js";

/** Compares a response that is not streamed with the tables of the specification. */
export function checkResponse({ response }: Recording, endpoint: string, model: string): Found[] {
  return [...checkHead(response), ...checkBody(response, endpoint, model)];
}

/** Compares the status and type of a response with the specification. */
function checkHead({ status, headers, end }: RecordedResponse): Found[] {
  const found: Found[] = [];
  const type = headers["content-type"] ?? "";
  if (!statuses.includes(status))
    found.push(createDifference(`status ${status} is not in the specification`));
  if (!/^application\/json\b/i.test(type))
    found.push(createDifference(`content-type is ${type || "absent"}, not JSON`));
  if (end === "broken") found.push(createDifference("the connection broke within the answer"));
  return found;
}

function checkBody(response: RecordedResponse, endpoint: string, model: string): Found[] {
  if (response.end !== "finished") return [];
  const body = parseBody(response);
  if (body === undefined) return [createDifference("the body is not JSON")];
  const schema = response.status === 200 ? findSchema(endpoint, model) : errorSchema;
  return schema ? checkBySchema(schema, body) : listFields(body).map((text) => ({ kind: "shown", text }));
}

function checkBySchema(schema: v.GenericSchema, body: unknown): Found[] {
  const { issues = [] } = v.safeParse(schema, body);
  return issues.map((issue) => {
    // report the items of a list once
    const path = (v.getDotPath(issue) ?? "the body").replace(/\.\d+(?=\.|$)/g, "[]");
    if (issue.expected === "never")
      return { kind: "unlisted", text: `answer: ${path} (${typeof issue.path?.at(-1)?.value})` };
    if (issue.received === "undefined") return createDifference(`${path} is absent`);
    return createDifference(
      `${path} is ${issue.received}${issue.expected ? `, not ${issue.expected}` : ", in another form"}`,
    );
  });
}

function createDifference(text: string): Found {
  return { kind: "differs", text: `answer: ${text}` };
}

function parseBody({ body, text }: RecordedResponse): unknown {
  if (text === undefined) return body;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
