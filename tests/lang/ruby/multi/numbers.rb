module Numbers
  WIDTH = 6
  HEIGHT = 7
end
