import json


def reach(data, key):
    return data[key]


reach(json.loads("{}"), "ember")
