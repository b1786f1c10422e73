// Written by `scripts/json-schemas.ts` from the schemas and the docs of their fields: not changed by hand.

const toolCallsSchema = {
  anyOf: [
    {
      type: "array",
      items: {
        type: "object",
        properties: {
          id: {
            type: "string",
            description: "Id of the call; the `tool` message with its result carries it as `tool_call_id`.",
          },
          type: {
            type: "string",
            const: "function",
            description: "Kind of tool; functions are the only kind.",
          },
          function: {
            type: "object",
            properties: {
              name: { type: "string", description: "Name of the function, as in `tools`." },
              arguments: {
                type: "string",
                description: "Arguments as JSON text. The text comes from the model and may be invalid JSON.",
              },
            },
            required: ["name", "arguments"],
            description: "The function to call and its arguments.",
          },
        },
        required: ["id", "type", "function"],
      },
    },
    { type: "null" },
  ],
  description: "Tool calls of an earlier answer. Each one needs a `tool` message with its result.",
};
const messagesSchema = {
  type: "object",
  properties: {
    role: { type: "string", const: "system", description: "Author of the message. `system`: the app." },
    content: {
      anyOf: [
        { type: "string" },
        {
          type: "array",
          items: {
            type: "object",
            properties: {
              type: { type: "string", const: "text", description: "Kind of the part." },
              text: { type: "string", description: "The text itself." },
            },
            required: ["type", "text"],
          },
        },
      ],
      description: "Text of the message, or its text parts. Images are for user messages only.",
    },
    name: {
      type: "string",
      description: "Name of the participant, to tell participants with the same role apart.",
    },
    reasoning_content: {
      anyOf: [{ type: "string" }, { type: "null" }],
      description:
        "Thinking of an earlier answer. Send it back unchanged in conversations of several turns with tools.",
    },
    tool_call_id: {
      type: "string",
      description: "Id of the tool call that a message answers. Required in `tool` messages.",
    },
    tool_calls: toolCallsSchema,
  },
  required: ["role", "content"],
};
const messagesSchema2 = {
  type: "object",
  properties: {
    role: {
      type: "string",
      const: "assistant",
      description: "Author of the message. `assistant`: the model.",
    },
    content: {
      anyOf: [
        {
          anyOf: [
            { type: "string" },
            {
              type: "array",
              items: {
                type: "object",
                properties: {
                  type: { type: "string", const: "text", description: "Kind of the part." },
                  text: { type: "string", description: "The text itself." },
                },
                required: ["type", "text"],
              },
            },
          ],
        },
        { type: "null" },
      ],
      description: "Text of the answer, or its text parts. `null` or absent only beside `tool_calls`.",
    },
    name: {
      type: "string",
      description: "Name of the participant, to tell participants with the same role apart.",
    },
    reasoning_content: {
      anyOf: [{ type: "string" }, { type: "null" }],
      description:
        "Thinking of an earlier answer. Send it back unchanged in conversations of several turns with tools.",
    },
    tool_call_id: {
      type: "string",
      description: "Id of the tool call that a message answers. Required in `tool` messages.",
    },
    tool_calls: toolCallsSchema,
  },
  required: ["role"],
};
const messagesSchema3 = {
  type: "object",
  properties: {
    role: {
      type: "string",
      const: "tool",
      description: "Author of the message. `tool`: the function that the model called.",
    },
    content: {
      anyOf: [
        { type: "string" },
        {
          type: "array",
          items: {
            type: "object",
            properties: {
              type: { type: "string", const: "text", description: "Kind of the part." },
              text: { type: "string", description: "The text itself." },
            },
            required: ["type", "text"],
          },
        },
      ],
      description: "Result of the call, as text or text parts.",
    },
    name: {
      type: "string",
      description: "Name of the participant, to tell participants with the same role apart.",
    },
    reasoning_content: {
      anyOf: [{ type: "string" }, { type: "null" }],
      description:
        "Thinking of an earlier answer. Send it back unchanged in conversations of several turns with tools.",
    },
    tool_call_id: {
      type: "string",
      minLength: 1,
      description: "Id of the tool call that this message answers. Not empty.",
    },
    tool_calls: toolCallsSchema,
  },
  required: ["role", "content", "tool_call_id"],
};
const streamOptionsSchema = {
  type: "object",
  properties: {
    include_usage: {
      type: "boolean",
      description:
        "Reports the tokens used, at the end of the stream. The gateway's default is `false`; `streamChat` sends `true` to `alpha-v4.1-flash`, or as `includeUsage` of the client says, unless this field is set.",
    },
  },
  description: "Options of a streamed answer. The spec lists them for `alpha-v4.1-flash`.",
};
const toolsSchema = {
  type: "object",
  properties: {
    type: { type: "string", const: "function", description: "Kind of tool; functions are the only kind." },
    function: {
      type: "object",
      properties: {
        name: { type: "string", minLength: 1, description: "Name of the function. Not empty." },
        description: {
          type: "string",
          description: "Explanation for the model: what the function does and when to call it.",
        },
        parameters: {
          type: "object",
          description: "JSON Schema of the arguments. An object, not a JSON text.",
        },
        strict: {
          type: "boolean",
          description: "Requests arguments that follow `parameters` exactly. The spec shows no default.",
        },
      },
      required: ["name", "parameters"],
      description: "The function that the model may call.",
    },
  },
  required: ["type", "function"],
};
const toolChoiceSchema = [
  { type: "string", enum: ["none", "auto", "required"] },
  {
    type: "object",
    properties: {
      type: { type: "string", const: "function", description: "Kind of tool; functions are the only kind." },
      function: {
        type: "object",
        properties: {
          name: {
            type: "string",
            minLength: 1,
            description: "Name of the function, as in `tools`. Not empty.",
          },
        },
        required: ["name"],
        description: "The function to call.",
      },
    },
    required: ["type", "function"],
  },
];
const messagesSchema4 = {
  type: "array",
  items: {
    anyOf: [
      messagesSchema,
      {
        type: "object",
        properties: {
          role: {
            type: "string",
            const: "user",
            description: "Author of the message. `user`: the person who asks.",
          },
          content: {
            anyOf: [
              { type: "string" },
              {
                type: "array",
                items: {
                  type: "object",
                  properties: {
                    type: { type: "string", const: "text", description: "Kind of the part." },
                    text: { type: "string", description: "The text itself." },
                  },
                  required: ["type", "text"],
                },
              },
            ],
            description: "Text of the message, or its text parts. This model accepts no images.",
          },
          name: {
            type: "string",
            description: "Name of the participant, to tell participants with the same role apart.",
          },
          reasoning_content: {
            anyOf: [{ type: "string" }, { type: "null" }],
            description:
              "Thinking of an earlier answer. Send it back unchanged in conversations of several turns with tools.",
          },
          tool_call_id: {
            type: "string",
            description: "Id of the tool call that a message answers. Required in `tool` messages.",
          },
          tool_calls: toolCallsSchema,
        },
        required: ["role", "content"],
      },
      messagesSchema2,
      messagesSchema3,
    ],
  },
  minItems: 1,
  description: "The conversation so far, oldest first. At least one message. This model reads text only.",
};
const sequentialImageGenerationOptionsSchema = {
  type: "object",
  properties: {
    max_images: {
      type: "integer",
      minimum: 1,
      description:
        "Most images of the sequence. Whole number from 1. The spec shows no upper limit and no default.",
    },
  },
  description: 'Options of a sequence. They need `sequential_image_generation: "auto"`.',
};
const logoInfoSchema = {
  type: "object",
  properties: {
    add_logo: { type: "boolean", description: "Draws the logo. The spec shows no default." },
    position: {
      type: "integer",
      description: "Place of the logo, as a whole number. The spec shows no list of places.",
    },
    language: {
      type: "integer",
      description: "Language of the logo's text, as a whole number. The spec shows no list of languages.",
    },
    opacity: {
      type: "number",
      minimum: 0,
      maximum: 1,
      description: "Opacity of the logo. From 0, invisible, to 1.",
    },
  },
  description: "A logo on each image.",
};
const inputSchema = {
  type: "object",
  properties: {
    prompt: {
      type: "string",
      maxLength: 5000,
      description:
        "Description of the video, in Chinese or English. At most 5,000 characters. Write references by kind and order: `Image 1`, `Video 1`, `Audio 1`. Required without `media`.",
    },
    media: {
      type: "array",
      items: {
        anyOf: [
          {
            type: "object",
            properties: {
              type: {
                type: "string",
                enum: ["first_frame", "last_frame"],
                description:
                  "Place of the image in the video. At most one of each; a `last_frame` needs a `first_frame`.",
              },
              url: {
                type: "string",
                description:
                  "http(s) URL, or Base64 data URI of a JPEG, PNG, BMP or WEBP image; at most 20 MB.",
              },
            },
            required: ["type", "url"],
          },
          {
            type: "object",
            properties: {
              type: {
                type: "string",
                const: "reference_image",
                description: "Kind of the reference. At most 10 images.",
              },
              url: {
                type: "string",
                description:
                  "http(s) URL, or Base64 data URI of a JPEG, PNG, BMP or WEBP image; at most 20 MB.",
              },
            },
            required: ["type", "url"],
          },
          {
            type: "object",
            properties: {
              type: {
                type: "string",
                enum: ["reference_video", "reference_audio", "file", "link"],
                description:
                  "Kind of the reference. At most 5 videos and 5 audios of 15 seconds in total each; one `file` or one `link`, not both.",
              },
              url: {
                type: "string",
                description:
                  "Public http(s) URL. The gateway downloads it, so no data URI and no address of a private network.",
              },
            },
            required: ["type", "url"],
          },
        ],
      },
      allOf: [
        {
          type: "array",
          contains: { type: "object", properties: { type: { enum: ["file", "link"] } }, required: ["type"] },
          minContains: 0,
          maxContains: 1,
        },
        {
          type: "array",
          contains: { type: "object", properties: { type: { const: "first_frame" } }, required: ["type"] },
          minContains: 0,
          maxContains: 1,
        },
        {
          type: "array",
          contains: { type: "object", properties: { type: { const: "last_frame" } }, required: ["type"] },
          minContains: 0,
          maxContains: 1,
        },
        {
          type: "array",
          contains: {
            type: "object",
            properties: { type: { const: "reference_image" } },
            required: ["type"],
          },
          minContains: 0,
          maxContains: 10,
        },
        {
          type: "array",
          contains: {
            type: "object",
            properties: { type: { const: "reference_video" } },
            required: ["type"],
          },
          minContains: 0,
          maxContains: 5,
        },
        {
          type: "array",
          contains: {
            type: "object",
            properties: { type: { const: "reference_audio" } },
            required: ["type"],
          },
          minContains: 0,
          maxContains: 5,
        },
      ],
      description:
        "Frames, or references. Their types decide the mode. Leave it out for text to video. Required without `prompt`.",
    },
  },
  description: "Content of the video: a prompt, media, or both.",
};
const parametersSchema = {
  type: "object",
  properties: {
    resolution: {
      type: "string",
      enum: ["1080P", "720P", "480P"],
      description: "Height of the video. Written with a capital P, unlike gamma models.",
      default: "1080P",
    },
    ratio: {
      type: "string",
      enum: ["adaptive", "16:9", "4:3", "1:1", "3:4", "9:16"],
      description: 'Width to height. `"adaptive"` takes it from the images and the prompt.',
      default: "adaptive",
    },
    duration: {
      type: "number",
      anyOf: [{ const: -1 }, { type: "integer", minimum: 2, maximum: 30 }],
      description:
        "Length in seconds. Whole number from 2 to 30, or -1: the model chooses. With reference videos, their length and this one are at most 30 seconds together.",
      default: 5,
    },
    audio: {
      type: "boolean",
      description: "Gives the video a sound track. The price is the same.",
      default: true,
    },
    prompt_extend: {
      type: "boolean",
      description: "Lets the gateway expand the prompt with details.",
      default: true,
    },
    seed: {
      type: "integer",
      minimum: 0,
      maximum: 2147483647,
      description:
        "Whole number from 0 to 2,147,483,647; the same request with the same seed gives a similar video.",
    },
    watermark: { type: "boolean", description: "Marks the video with a watermark.", default: false },
  },
  description: "Size, length and other settings.",
};
const contentSchema = {
  type: "array",
  items: {
    type: "object",
    properties: {
      type: { type: "string", const: "text", description: "Kind of the item." },
      text: { type: "string", description: "Description of the motion, the scene and the camera." },
    },
    required: ["type", "text"],
  },
  contains: { type: "object", properties: { type: { const: "text" } }, required: ["type"] },
  minContains: 1,
  maxContains: 1,
};
const contentSchema2 = {
  type: "array",
  items: {
    anyOf: [
      {
        type: "object",
        properties: {
          type: { type: "string", const: "text", description: "Kind of the item." },
          text: { type: "string", description: "Description of the motion, the scene and the camera." },
        },
        required: ["type", "text"],
      },
      {
        type: "object",
        properties: {
          type: { type: "string", const: "image_url", description: "Kind of the item." },
          image_url: {
            type: "object",
            properties: {
              url: {
                type: "string",
                description:
                  "http(s) URL, Base64 data URI of an image, or `asset://<id>`: the `uri` of a registered asset.",
              },
            },
            required: ["url"],
            description: "The image.",
          },
          role: {
            type: "string",
            description:
              "Use of the image: `first_frame`, `last_frame` or `reference_image`. The spec shows no list; other values are sent with a warning.",
          },
        },
        required: ["type", "image_url"],
      },
      {
        type: "object",
        properties: {
          type: { type: "string", const: "video_url", description: "Kind of the item." },
          video_url: {
            type: "object",
            properties: {
              url: { type: "string", description: "http(s) URL that the gateway can download." },
            },
            required: ["url"],
            description: "The video.",
          },
          role: { type: "string", description: "Use of the video. The spec shows no list of roles." },
        },
        required: ["type", "video_url"],
      },
      {
        type: "object",
        properties: {
          type: { type: "string", const: "audio_url", description: "Kind of the item." },
          audio_url: {
            type: "object",
            properties: {
              url: { type: "string", description: "http(s) URL that the gateway can download." },
            },
            required: ["url"],
            description: "The sound.",
          },
          role: { type: "string", description: "Use of the sound. The spec shows no list of roles." },
        },
        required: ["type", "audio_url"],
      },
    ],
  },
  minItems: 1,
  description:
    "Content of the video: texts, images, videos and audios. At least one item; audios need an image or a video.",
};

/** The requests of all models as JSON Schema, by the id of the model. Models share parts: copy before a change. */
export const jsonSchemas: Readonly<Record<string, unknown>> = {
  "alpha-v4.1-flash": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    description: "Request to `alpha-v4.1-flash`.",
    type: "object",
    properties: {
      model: {
        type: "string",
        const: "alpha-v4.1-flash",
        description: "The model that answers. It decides which other fields there are.",
      },
      messages: {
        type: "array",
        items: {
          anyOf: [
            messagesSchema,
            {
              type: "object",
              properties: {
                role: {
                  type: "string",
                  const: "user",
                  description: "Author of the message. `user`: the person who asks.",
                },
                content: {
                  anyOf: [
                    { type: "string" },
                    {
                      type: "array",
                      items: {
                        anyOf: [
                          {
                            type: "object",
                            properties: {
                              type: { type: "string", const: "text", description: "Kind of the part." },
                              text: { type: "string", description: "The text itself." },
                            },
                            required: ["type", "text"],
                          },
                          {
                            type: "object",
                            properties: {
                              type: { type: "string", const: "image_url", description: "Kind of the part." },
                              image_url: {
                                type: "object",
                                properties: {
                                  url: {
                                    type: "string",
                                    description:
                                      "Public http(s) URL, or Base64 data URL of a JPEG, PNG, GIF or WebP image.",
                                  },
                                  detail: {
                                    type: "string",
                                    enum: ["low", "high", "original", "auto"],
                                    description: "Detail in which the model sees the image.",
                                    default: "auto",
                                  },
                                },
                                required: ["url"],
                                description: "The image.",
                              },
                            },
                            required: ["type", "image_url"],
                          },
                        ],
                      },
                    },
                  ],
                  description: "Text of the message, or its parts: texts and images.",
                },
                name: {
                  type: "string",
                  description: "Name of the participant, to tell participants with the same role apart.",
                },
                reasoning_content: {
                  anyOf: [{ type: "string" }, { type: "null" }],
                  description:
                    "Thinking of an earlier answer. Send it back unchanged in conversations of several turns with tools.",
                },
                tool_call_id: {
                  type: "string",
                  description: "Id of the tool call that a message answers. Required in `tool` messages.",
                },
                tool_calls: toolCallsSchema,
              },
              required: ["role", "content"],
            },
            messagesSchema2,
            messagesSchema3,
          ],
        },
        minItems: 1,
        description: "The conversation so far, oldest first. At least one message.",
      },
      thinking: {
        anyOf: [
          {
            type: "object",
            properties: {
              type: {
                type: "string",
                enum: ["enabled", "disabled"],
                description: "Switches thinking on or off.",
                default: "enabled",
              },
            },
          },
          { type: "null" },
        ],
        description: "Thinking before the answer, which comes as `reasoning_content`. It may be `null`.",
      },
      reasoning_effort: {
        type: "string",
        enum: ["none", "low", "high", "max"],
        description: 'Effort of thinking. `"none"` switches thinking off.',
        default: "high",
      },
      max_tokens: {
        type: "integer",
        minimum: 1,
        maximum: 393216,
        description: "Most tokens of the answer. Whole number from 1 to 393,216. The spec shows no default.",
      },
      response_format: {
        type: "object",
        properties: {
          type: {
            type: "string",
            enum: ["text", "json_object"],
            description:
              'Format of the answer. `"json_object"` gives JSON; the messages must ask for JSON too.',
            default: "text",
          },
        },
        description: "Format of the answer.",
      },
      stop: {
        anyOf: [{ type: "string" }, { type: "array", items: { type: "string" }, maxItems: 16 }],
        description:
          "Texts that end the answer where the model writes one of them. One text, or a list of at most 16.",
      },
      stream: {
        type: "boolean",
        description: "Leave it out: `streamChat` sends `true`, and `completeChat` nothing.",
        default: false,
      },
      stream_options: streamOptionsSchema,
      temperature: {
        type: "number",
        minimum: 0,
        maximum: 2,
        description:
          "Randomness of the answer: 0 repeats itself most, higher values vary more. From 0 to 2. Has no effect while thinking is on.",
        default: 1,
      },
      top_p: {
        type: "number",
        minimum: 0,
        maximum: 1,
        description:
          "Share of the likeliest words that the model chooses from. From 0 to 1. While thinking is on, a value below 0.95 counts as 0.95; while it is off, the value counts as 1.",
        default: 1,
      },
      tools: { type: "array", items: toolsSchema, description: "Functions that the model may call." },
      tool_choice: {
        anyOf: toolChoiceSchema,
        description:
          'Use of `tools`. `"none"`: no call; `"auto"`: the model decides; `"required"`: at least one call; an object: this function. The spec shows no default.',
      },
      frequency_penalty: {
        type: "number",
        minimum: -2,
        maximum: 2,
        description:
          "Penalty for words by how often they have occurred: positive values repeat less. From -2 to 2. Has no effect while thinking is on.",
        default: 0,
      },
      presence_penalty: {
        type: "number",
        minimum: -2,
        maximum: 2,
        description:
          "Penalty for words that have occurred at all: positive values bring new topics. From -2 to 2. Has no effect while thinking is on.",
        default: 0,
      },
      user_id: {
        type: "string",
        pattern: "^[\\w-]{1,512}$",
        description:
          "Stable id of the app's user, for content safety and separate caches. 1 to 512 characters of A-Z, a-z, 0-9, `-` and `_`. Never a name or a mail address.",
      },
    },
    required: ["model", "messages"],
  },
  "gamma-chat-1-6-251015": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    description: "Request to `gamma-chat-1-6-251015`.",
    type: "object",
    properties: {
      model: {
        type: "string",
        const: "gamma-chat-1-6-251015",
        description: "The model that answers. It decides which other fields there are.",
      },
      messages: messagesSchema4,
      max_tokens: {
        type: "integer",
        minimum: 1,
        maximum: 8192,
        description: "Most tokens of the answer. Whole number from 1 to 8,192.",
      },
      temperature: {
        type: "number",
        minimum: 0,
        maximum: 2,
        description: "Randomness of the answer: 0 repeats itself most, higher values vary more. From 0 to 2.",
      },
      top_p: {
        type: "number",
        minimum: 0,
        maximum: 1,
        description: "Share of the likeliest words that the model chooses from. From 0 to 1.",
      },
      frequency_penalty: {
        type: "number",
        minimum: -2,
        maximum: 2,
        description:
          "Penalty for words by how often they have occurred: positive values repeat less. From -2 to 2.",
      },
      presence_penalty: {
        type: "number",
        minimum: -2,
        maximum: 2,
        description:
          "Penalty for words that have occurred at all: positive values bring new topics. From -2 to 2.",
      },
      stream: {
        type: "boolean",
        description: "Leave it out: `streamChat` sends `true`, and `completeChat` nothing.",
        default: false,
      },
      stream_options: streamOptionsSchema,
      stop: {
        type: "string",
        description: "Text that ends the answer where the model writes it. One text, not a list.",
      },
    },
    required: ["model", "messages"],
  },
  "delta-5.3": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    description: "Request to `delta-5.3`.",
    type: "object",
    properties: {
      model: {
        type: "string",
        const: "delta-5.3",
        description: "The model that answers. It decides which other fields there are.",
      },
      messages: messagesSchema4,
      thinking: {
        type: "object",
        properties: {
          type: { type: "string", enum: ["enabled"], description: '`"enabled"` is the only value.' },
        },
        required: ["type"],
        description:
          "Thinking before the answer, which comes as `reasoning_content`. It cannot be switched off.",
      },
      reasoning_effort: {
        type: "string",
        enum: ["low", "high", "max"],
        description: 'Effort of thinking. This model has no `"none"`. The spec shows no default.',
      },
      max_tokens: {
        type: "integer",
        minimum: 1,
        maximum: 131072,
        description: "Most tokens of the answer. Whole number from 1 to 131,072. The spec shows no default.",
      },
      temperature: {
        type: "number",
        minimum: 0,
        maximum: 1,
        description:
          "Randomness of the answer: 0 repeats itself most. From 0 to 1. The name is our assumption.",
      },
      top_p: {
        type: "number",
        minimum: 0,
        maximum: 1,
        description:
          "Share of the likeliest words that the model chooses from. From 0 to 1. The name is our assumption.",
      },
      stop: {
        anyOf: [{ type: "string" }, { type: "array", items: { type: "string" }, maxItems: 4 }],
        description:
          "Texts that end the answer where the model writes one of them. One text, or a list of at most 4. The name is our assumption.",
      },
      stream: {
        type: "boolean",
        description: "Leave it out: `streamChat` sends `true`, and `completeChat` nothing.",
        default: false,
      },
      stream_options: streamOptionsSchema,
      tools: {
        type: "array",
        items: toolsSchema,
        description:
          "Functions that the model may call. The spec does not list them for this model, which may ignore them.",
      },
      tool_choice: {
        anyOf: toolChoiceSchema,
        description:
          'Use of `tools`. `"none"`: no call; `"auto"`: the model decides; `"required"`: at least one call; an object: this function. The spec does not list it for this model.',
      },
    },
    required: ["model", "messages"],
  },
  "gamma-image-4-0-250828": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    description: "Request to `gamma-image-4-0-250828`.",
    type: "object",
    properties: {
      model: {
        type: "string",
        const: "gamma-image-4-0-250828",
        description: "The model. It decides the possible sizes.",
      },
      prompt: {
        type: "string",
        description: "Description of the image, or of the change to the reference images.",
      },
      image: {
        type: "array",
        items: { type: "string" },
        description:
          "Reference images for image to image: http(s) URLs that the gateway can download within 10 seconds each, or Base64 data URIs. Leave it out for text to image.",
      },
      sequential_image_generation: {
        type: "string",
        const: "auto",
        description:
          '`"auto"` allows the model to make a sequence of several images. Without it the answer has one image.',
      },
      sequential_image_generation_options: sequentialImageGenerationOptionsSchema,
      watermark: { type: "boolean", description: "Marks each image with a watermark.", default: false },
      seed: {
        type: "integer",
        description:
          "Whole number; the same request with the same seed gives similar images. The spec shows no range.",
      },
      logo_info: logoInfoSchema,
      size: {
        type: "string",
        enum: [
          "1024x1024",
          "864x1152",
          "1152x864",
          "1312x736",
          "736x1312",
          "832x1248",
          "1248x832",
          "1568x672",
          "2048x2048",
          "1728x2304",
          "2304x1728",
          "2848x1600",
          "1600x2848",
          "2496x1664",
          "1664x2496",
          "3136x1344",
          "4096x4096",
          "3520x4704",
          "4704x3520",
          "5504x3040",
          "3040x5504",
          "3328x4992",
          "4992x3328",
          "6240x2656",
        ],
        description: "Width and height of each image, in pixels: one of 24 sizes. The spec shows no default.",
      },
    },
    required: ["model", "prompt"],
  },
  "gamma-image-5-0-260128": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    description: "Request to `gamma-image-5-0-260128`.",
    type: "object",
    properties: {
      model: {
        type: "string",
        const: "gamma-image-5-0-260128",
        description: "The model. It decides the possible sizes.",
      },
      prompt: {
        type: "string",
        description: "Description of the image, or of the change to the reference images.",
      },
      image: {
        type: "array",
        items: { type: "string" },
        description:
          "Reference images for image to image: http(s) URLs that the gateway can download within 10 seconds each, or Base64 data URIs. Leave it out for text to image.",
      },
      sequential_image_generation: {
        type: "string",
        const: "auto",
        description:
          '`"auto"` allows the model to make a sequence of several images. Without it the answer has one image.',
      },
      sequential_image_generation_options: sequentialImageGenerationOptionsSchema,
      watermark: { type: "boolean", description: "Marks each image with a watermark.", default: false },
      seed: {
        type: "integer",
        description:
          "Whole number; the same request with the same seed gives similar images. The spec shows no range.",
      },
      logo_info: logoInfoSchema,
      size: {
        type: "string",
        enum: [
          "2048x2048",
          "1728x2304",
          "2304x1728",
          "2848x1600",
          "1600x2848",
          "2496x1664",
          "1664x2496",
          "3136x1344",
          "3072x3072",
          "2592x3456",
          "3456x2592",
          "4096x2304",
          "2304x4096",
          "2496x3744",
          "3744x2496",
          "4704x2016",
        ],
        description: "Width and height of each image, in pixels: one of 16 sizes. The spec shows no default.",
      },
    },
    required: ["model", "prompt"],
  },
  "beta3.0-video": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    description: "Request to `beta3.0-video`.",
    type: "object",
    properties: {
      model: {
        type: "string",
        description: "The model that makes the video. Both accept the same fields.",
        const: "beta3.0-video",
      },
      input: inputSchema,
      parameters: parametersSchema,
      content: { not: {}, description: "Not for this model: a field of the gamma models. Use `input`." },
      resolution: { not: {}, description: "Belongs in `parameters` for this model." },
      ratio: { not: {}, description: "Belongs in `parameters` for this model." },
      duration: { not: {}, description: "Belongs in `parameters` for this model." },
      seed: { not: {}, description: "Belongs in `parameters` for this model." },
      watermark: { not: {}, description: "Belongs in `parameters` for this model." },
      return_last_frame: { not: {}, description: "Not for this model: a field of `gamma-video-2.0`." },
    },
    required: ["model", "input"],
  },
  "beta3.0-video-prime": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    description: "Request to `beta3.0-video-prime`.",
    type: "object",
    properties: {
      model: {
        type: "string",
        description: "The model that makes the video. Both accept the same fields.",
        const: "beta3.0-video-prime",
      },
      input: inputSchema,
      parameters: parametersSchema,
      content: { not: {}, description: "Not for this model: a field of the gamma models. Use `input`." },
      resolution: { not: {}, description: "Belongs in `parameters` for this model." },
      ratio: { not: {}, description: "Belongs in `parameters` for this model." },
      duration: { not: {}, description: "Belongs in `parameters` for this model." },
      seed: { not: {}, description: "Belongs in `parameters` for this model." },
      watermark: { not: {}, description: "Belongs in `parameters` for this model." },
      return_last_frame: { not: {}, description: "Not for this model: a field of `gamma-video-2.0`." },
    },
    required: ["model", "input"],
  },
  "gamma-video-1-5-pro-251215": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    description: "Request to `gamma-video-1-5-pro-251215`.",
    type: "object",
    properties: {
      model: {
        type: "string",
        const: "gamma-video-1-5-pro-251215",
        description: "The model that makes the video. It decides the other fields.",
      },
      ratio: {
        type: "string",
        enum: ["adaptive", "16:9", "4:3", "1:1", "3:4", "9:16", "21:9"],
        description: 'Width to height. `"adaptive"` takes it from the image and the text.',
        default: "adaptive",
      },
      generate_audio: {
        type: "boolean",
        description:
          "Gives the video a sound track that fits the picture. The spec describes it for text to video.",
        default: false,
      },
      resolution: {
        type: "string",
        enum: ["480p", "720p", "1080p"],
        description: "Height of the video. Written with a small p, unlike beta models.",
        default: "720p",
      },
      duration: {
        type: "number",
        anyOf: [{ const: -1 }, { type: "integer", minimum: 4, maximum: 12 }],
        description: "Length in seconds. Whole number from 4 to 12, or -1: the model chooses.",
        default: 5,
      },
      seed: {
        type: "integer",
        minimum: -1,
        maximum: 4294967295,
        description:
          "Whole number from -1 to 4,294,967,295; the same request with the same seed gives a similar video.",
      },
      watermark: { type: "boolean", description: "Marks the video with a watermark.", default: false },
      input: { not: {}, description: "Not for this model: a field of the beta models. Use `content`." },
      parameters: {
        not: {},
        description: "Not for this model: a field of the beta models. Here parameters are top-level fields.",
      },
      return_last_frame: { not: {}, description: "Not for this model: a field of `gamma-video-2.0`." },
      content: {
        anyOf: [
          contentSchema,
          {
            type: "array",
            items: {
              anyOf: [
                {
                  type: "object",
                  properties: {
                    type: { type: "string", const: "text", description: "Kind of the item." },
                    text: {
                      type: "string",
                      description: "Description of the motion, the scene and the camera.",
                    },
                  },
                  required: ["type", "text"],
                },
                {
                  type: "object",
                  properties: {
                    type: { type: "string", const: "image_url", description: "Kind of the item." },
                    image_url: {
                      type: "object",
                      properties: {
                        url: {
                          type: "string",
                          description:
                            "Public http(s) URL. The gateway downloads it, so no data URI and no address of a private network.",
                        },
                      },
                      required: ["url"],
                      description: "The image.",
                    },
                    role: {
                      type: "string",
                      enum: ["first_frame", "last_frame"],
                      description: "Place of the image in the video. At most one of each.",
                    },
                  },
                  required: ["type", "image_url", "role"],
                },
              ],
            },
            allOf: [
              {
                type: "array",
                contains: { type: "object", properties: { type: { const: "text" } }, required: ["type"] },
                minContains: 1,
                maxContains: 1,
              },
              {
                type: "array",
                contains: {
                  type: "object",
                  properties: { role: { const: "first_frame" } },
                  required: ["role"],
                },
                minContains: 0,
                maxContains: 1,
              },
              {
                type: "array",
                contains: {
                  type: "object",
                  properties: { role: { const: "last_frame" } },
                  required: ["role"],
                },
                minContains: 0,
                maxContains: 1,
              },
            ],
          },
        ],
        description:
          "Content of the video: one text item, and a first frame, a last frame or both. Content of the video: exactly one text item. For image to video, images as well.",
      },
      camera_fixed: {
        type: "boolean",
        description:
          "Not with images in `content`: the camera is fixed in text to video only. Keeps the camera still. For text to video only.",
      },
    },
    required: ["model", "content"],
  },
  "gamma-video-1-0-pro-fast-251015": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    description: "Request to `gamma-video-1-0-pro-fast-251015`.",
    type: "object",
    properties: {
      model: {
        type: "string",
        const: "gamma-video-1-0-pro-fast-251015",
        description: "The model that makes the video. It decides the other fields.",
      },
      resolution: {
        type: "string",
        enum: ["480p", "720p", "1080p"],
        description: "Height of the video. Written with a small p, unlike beta models.",
        default: "1080p",
      },
      duration: {
        type: "integer",
        minimum: 2,
        maximum: 12,
        description: "Length in seconds. Whole number from 2 to 12.",
        default: 5,
      },
      seed: {
        type: "integer",
        minimum: -1,
        maximum: 4294967295,
        description:
          "Whole number from -1 to 4,294,967,295; the same request with the same seed gives a similar video.",
      },
      watermark: { type: "boolean", description: "Marks the video with a watermark.", default: false },
      input: { not: {}, description: "Not for this model: a field of the beta models. Use `content`." },
      parameters: {
        not: {},
        description: "Not for this model: a field of the beta models. Here parameters are top-level fields.",
      },
      return_last_frame: { not: {}, description: "Not for this model: a field of `gamma-video-2.0`." },
      generate_audio: { not: {}, description: "Not for this model, whose videos are silent." },
      content: {
        anyOf: [
          contentSchema,
          {
            type: "array",
            items: {
              anyOf: [
                {
                  type: "object",
                  properties: {
                    type: { type: "string", const: "text", description: "Kind of the item." },
                    text: {
                      type: "string",
                      description: "Description of the motion, the scene and the camera.",
                    },
                  },
                  required: ["type", "text"],
                },
                {
                  type: "object",
                  properties: {
                    type: { type: "string", const: "image_url", description: "Kind of the item." },
                    image_url: {
                      type: "object",
                      properties: {
                        url: {
                          type: "string",
                          description:
                            "Public http(s) URL. The gateway downloads it, so no data URI and no address of a private network.",
                        },
                      },
                      required: ["url"],
                      description: "The image.",
                    },
                    role: {
                      type: "string",
                      enum: ["first_frame"],
                      description: "Place of the image in the video. At most one of each.",
                    },
                  },
                  required: ["type", "image_url", "role"],
                },
              ],
            },
            allOf: [
              {
                type: "array",
                contains: { type: "object", properties: { type: { const: "text" } }, required: ["type"] },
                minContains: 1,
                maxContains: 1,
              },
              {
                type: "array",
                contains: {
                  type: "object",
                  properties: { type: { const: "image_url" } },
                  required: ["type"],
                },
                minContains: 1,
                maxContains: 1,
              },
            ],
          },
        ],
        description:
          "Content of the video: one text item and one image, the first frame. Content of the video: exactly one text item. For image to video, images as well.",
      },
      camera_fixed: {
        type: "boolean",
        description:
          "Not with images in `content`: the camera is fixed in text to video only. Keeps the camera still. For text to video only.",
      },
      ratio: {
        type: "string",
        enum: ["adaptive", "16:9", "4:3", "1:1", "3:4", "9:16", "21:9"],
        description:
          'Width to height. `"adaptive"` takes it from the image. `"adaptive"` is not possible in text to video.',
      },
    },
    required: ["model", "content"],
  },
  "gamma-video-2.0": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    description: "Request to `gamma-video-2.0`.",
    type: "object",
    properties: {
      model: {
        type: "string",
        const: "gamma-video-2.0",
        description: "The model that makes the video. It decides the other fields.",
      },
      content: contentSchema2,
      generate_audio: {
        type: "boolean",
        description:
          "`true` gives the video voices, effects and music; `false` a silent video. The spec shows no default.",
      },
      ratio: {
        type: "string",
        enum: ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "adaptive"],
        description: 'Width to height. `"adaptive"` takes it from the content. The spec shows no default.',
      },
      duration: {
        type: "integer",
        minimum: 4,
        maximum: 15,
        description: "Length in seconds. Whole number from 4 to 15. The spec shows no default.",
      },
      tools: {
        type: "array",
        items: {
          type: "object",
          properties: { type: { type: "string", const: "web_search", description: "Kind of tool." } },
          required: ["type"],
        },
        description: "Tools of the model: web search is the only one, and for text to video only.",
      },
      watermark: {
        type: "boolean",
        description: "Marks the video with a watermark. The spec shows no default.",
      },
      seed: {
        type: "integer",
        description: "Whole number. The spec does not list it for this model: it is sent with a warning.",
      },
      camera_fixed: {
        type: "boolean",
        description:
          "Keeps the camera still. The spec does not list it for this model: it is sent with a warning.",
      },
      input: { not: {}, description: "Not for this model: a field of the beta models. Use `content`." },
      parameters: {
        not: {},
        description: "Not for this model: a field of the beta models. Here parameters are top-level fields.",
      },
      resolution: {
        type: "string",
        enum: ["480p", "720p", "1080p", "4k"],
        description:
          "Height of the video. Written with a small p, unlike beta models. The spec shows no default.",
      },
      return_last_frame: {
        type: "boolean",
        description:
          "Adds the last frame as an image to the result. For this model only. The spec shows no default.",
      },
    },
    required: ["model", "content"],
  },
  "gamma-video-fast": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    description: "Request to `gamma-video-fast`.",
    type: "object",
    properties: {
      model: {
        type: "string",
        const: "gamma-video-fast",
        description: "The model that makes the video. It decides the other fields.",
      },
      content: contentSchema2,
      generate_audio: {
        type: "boolean",
        description:
          "`true` gives the video voices, effects and music; `false` a silent video. The spec shows no default.",
      },
      ratio: {
        type: "string",
        enum: ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "adaptive"],
        description: 'Width to height. `"adaptive"` takes it from the content. The spec shows no default.',
      },
      duration: {
        type: "integer",
        minimum: 4,
        maximum: 15,
        description: "Length in seconds. Whole number from 4 to 15. The spec shows no default.",
      },
      tools: {
        type: "array",
        items: {
          type: "object",
          properties: { type: { type: "string", const: "web_search", description: "Kind of tool." } },
          required: ["type"],
        },
        description: "Tools of the model: web search is the only one, and for text to video only.",
      },
      watermark: {
        type: "boolean",
        description: "Marks the video with a watermark. The spec shows no default.",
      },
      seed: {
        type: "integer",
        description: "Whole number. The spec does not list it for this model: it is sent with a warning.",
      },
      camera_fixed: {
        type: "boolean",
        description:
          "Keeps the camera still. The spec does not list it for this model: it is sent with a warning.",
      },
      input: { not: {}, description: "Not for this model: a field of the beta models. Use `content`." },
      parameters: {
        not: {},
        description: "Not for this model: a field of the beta models. Here parameters are top-level fields.",
      },
      resolution: {
        type: "string",
        enum: ["480p", "720p"],
        description:
          "Height of the video. Written with a small p, unlike beta models. The spec shows no default.",
      },
      return_last_frame: { not: {}, description: "Not for this model: a field of `gamma-video-2.0`." },
    },
    required: ["model", "content"],
  },
  "gamma-asset": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    description: "Registration of an image as an asset.",
    type: "object",
    properties: {
      model: {
        type: "string",
        const: "gamma-asset",
        description: "The model that the registration is billed under. There is one such model.",
      },
      GroupId: {
        type: "string",
        minLength: 1,
        description: "Id of an asset group that exists. The spec shows no way to create one. Not empty.",
      },
      Name: { type: "string", minLength: 1, description: "Name of the asset. Not empty." },
      AssetType: {
        type: "string",
        enum: ["Image"],
        description: "Kind of the asset. Images are the only kind.",
      },
      URL: {
        type: "string",
        minLength: 1,
        description:
          "The image: an http(s) URL, a data URI, plain Base64, or a `File` or `Blob` of an image, which is not empty.",
      },
    },
    required: ["model", "GroupId", "Name", "AssetType", "URL"],
  },
};
