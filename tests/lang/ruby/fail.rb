require "json"


def reach(data, key)
  data.fetch(key)
end

reach(JSON.parse("{}"), "ember")
