update measure set value = value + 2;
