import { isGatewayError } from "@sluice/core";
import { fitImage } from "@sluice/media";
import { expect, test } from "vitest";
import { catchError } from "../../core/test/support/gateway.js";
import { createJPEG } from "./support/media.js";

test("fitImage without a canvas throws a configuration error that names the alternative", async () => {
  const error = await catchError(fitImage(new Blob([createJPEG(640, 480)]), "first_frame"));
  expect(isGatewayError(error) && error.name).toBe("ConfigurationError");
  expect(String(error)).toContain("checkMedia()");
});
