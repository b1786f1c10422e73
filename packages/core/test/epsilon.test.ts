import { createEpsilonTask, getEpsilonTask } from "@sluice/core/epsilon";
import { describe, expect, test } from "vitest";
import { catchError, createTestClient } from "./support/gateway.js";

describe("epsilon, whose bodies and responses the spec does not describe", () => {
  test.each(["text2video", "image2video", "multi-image2video"] as const)(
    "%s sends and returns JSON unchanged",
    async (route) => {
      const failedTask = { code: 0, data: { task_id: "e-1", error: { message: "none of ours" } } };
      const { client, requests } = createTestClient(() => Response.json(failedTask), {
        baseURL: "https://gateway.test/v1",
      });
      const body = { anything: [1, { goes: null }] };
      expect(await createEpsilonTask(client, route, body)).toEqual(failedTask);
      expect(`${requests[0]?.method} ${requests[0]?.url}`).toBe(
        `POST https://gateway.test/epsilon/v1/videos/${route}`,
      );
      expect(await requests[0]?.json()).toEqual(body);
    },
  );

  test("getEpsilonTask keeps the id inside its path", async () => {
    const { client, requests } = createTestClient(() => Response.json([{ status: "ok" }]));
    expect(await getEpsilonTask(client, "../e?1")).toEqual([{ status: "ok" }]);
    expect(`${requests[0]?.method} ${requests[0]?.url}`).toBe(
      "GET https://gateway.test/epsilon/v1/videos/..%2Fe%3F1",
    );
  });

  test("an unknown route, a missing body and a missing id are refused before anything is sent", async () => {
    const { client, requests } = createTestClient(() => Response.json({}));
    for (const route of ["../chat", "toString"])
      expect(
        await catchError(createEpsilonTask(client, route as Parameters<typeof createEpsilonTask>[1], {})),
      ).toMatchObject({
        issues: [{ rule: "epsilon.route" }],
      });
    expect(await catchError(createEpsilonTask(client, "text2video", undefined))).toMatchObject({
      issues: [{ rule: "epsilon.body" }],
    });
    for (const id of ["", "..", " "])
      expect(await catchError(getEpsilonTask(client, id))).toMatchObject({
        issues: [{ rule: "epsilon.task-id" }],
      });
    expect(requests).toHaveLength(0);
  });

  test("an error has the task's id as its handle", async () => {
    const { client } = createTestClient(() => Response.json({ error: { message: "gone" } }, { status: 404 }));
    expect(await catchError(getEpsilonTask(client, "e-1"))).toMatchObject({
      name: "APIError",
      status: 404,
      handle: { id: "e-1" },
    });
  });
});
