// TypeScript types of api/openapi.yaml's schemas: what the page believes about answers is what the description says.
import { parse } from "yaml";

const identifier = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

function alternatives(schemas, separator) {
  const types = [...new Set(schemas.map(typeOf))];
  return types.length === 1 ? types[0] : `(${types.join(separator)})`;
}

function objectOf(schema) {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, value]) => {
    const note = value && value.description ? `/** ${String(value.description).replace(/\s+/g, " ").replaceAll("*/", "* /").trim()} */ ` : "";
    return `${note}${identifier(name)}${required.has(name) ? "" : "?"}: ${typeOf(value)};`;
  });
  const more = schema.additionalProperties;
  if (more && typeof more === "object") {
    if (fields.length === 0) return `{ [key: string]: ${typeOf(more)} }`;
    fields.push("[key: string]: unknown;");
  } else if (fields.length === 0) {
    return more === false ? "Record<string, never>" : "{ [key: string]: unknown }";
  }
  return `{ ${fields.join(" ")} }`;
}

function typeOf(schema) {
  if (schema === true || schema === undefined || schema === null) return "unknown";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.oneOf) return alternatives(schema.oneOf, " | ");
  if (schema.anyOf && !schema.properties) return alternatives(schema.anyOf, " | ");
  if (schema.allOf) {
    const own = schema.properties ? [objectOf(schema)] : [];
    return [...schema.allOf.map(typeOf), ...own].join(" & ");
  }
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(" | ");
  switch (schema.type) {
    case "string":
      return "string";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return `Array<${typeOf(schema.items)}>`;
    case "object":
      return objectOf(schema);
    default:
      return schema.properties ? objectOf(schema) : "unknown";
  }
}

export function typesOf(text) {
  const schemas = parse(text).components.schemas;
  const lines = Object.entries(schemas).map(([name, schema]) => `export type ${name} = ${typeOf(schema)};`);
  return `// Made by tools/types.mjs from api/openapi.yaml.\n\n${lines.join("\n\n")}\n`;
}
